import { Command, CommanderError } from 'commander';
import { resolveHome } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';
import type { Values } from './complete.ts';
import { completeCommand } from './completions.ts';
import { type Context, UsageError } from './context.ts';
import { harmless } from './terminal.ts';

/** Each command is loaded only when it is called, because loading is most of the startup time. */
export type Commands = Readonly<Record<string, (context: Context) => Promise<Command>>>;

/** A command line with only the named command, or with all of them, as for help and completions. */
export async function createCommandLine(
  about: {
    readonly name: 'substrat' | 'ctx';
    readonly description: string;
    readonly commands: Commands;
    readonly trust?: string;
    /** What Tab offers for placeholders. */
    readonly values?: (context: Context) => Values;
  },
  version: string,
  named?: string,
): Promise<Command> {
  const context: Context = {
    program: about.name,
    version,
    home: () => resolveHome(process.env),
    print: (line) => void process.stdout.write(`${harmless(line)}\n`),
  };
  const program = new Command(about.name)
    .description(about.description)
    .version(version)
    .option('--config <file>', 'configuration file')
    .option('--json', 'print exactly one JSON value (streams: one per line)')
    .configureHelp({ showGlobalOptions: true });
  if (about.trust !== undefined) program.option('--trust', about.trust);
  const alone = named === undefined ? undefined : about.commands[named];
  for (const load of alone ? [alone] : Object.values(about.commands)) program.addCommand(await load(context));
  if (named === 'complete') program.addCommand(completeCommand(context, about.values?.(context)), { hidden: true });
  // `runCommandLine` prints errors, so that all of them have one form.
  const quiet = { outputError: () => {}, ...(isJsonWanted() && { writeErr: () => {} }) };
  for (const command of everyCommand(program)) command.exitOverride().configureOutput(quiet);
  return program;
}

/**
 * Runs it with the process's arguments and sets the exit code: 0 success, 1 failure, 2 wrong usage. `explain` may add
 * a sentence to a failure.
 */
export async function runCommandLine(
  create: (named?: string) => Promise<Command>,
  explain: () => Promise<string | null> = async () => null,
): Promise<void> {
  // The reader may close the pipe early (`| head`); EPIPE is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  // If an option comes before the command, all commands are loaded.
  const program = await create(process.argv[2]);
  try {
    await program.parseAsync();
  } catch (error) {
    const failure = failureOf(error, program);
    process.exitCode = failure.exitCode;
    if (failure.message === null) return;
    const { code } = failure;
    const reason = failure.exitCode === 1 ? await explain() : null;
    // A stack trace does not add to the reason.
    const known = code === 'internal' && !(error instanceof SubstratError) ? '' : `${failure.message} `;
    const message = reason === null ? failure.message : `${known}${reason}`;
    const line = isJsonWanted() ? JSON.stringify({ error: { code, message } }) : `${program.name()}: ${message}`;
    process.stderr.write(`${harmless(line)}\n`);
  }
}

interface Failure {
  readonly exitCode: number;
  readonly code: string;
  /** Null if help or the version was printed instead. */
  readonly message: string | null;
}

function failureOf(error: unknown, program: Command): Failure {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { exitCode: 0, code: 'ok', message: null };
    return { exitCode: 2, code: 'usage', message: usageProblem(error, program) };
  }
  if (error instanceof UsageError) return { exitCode: 2, code: 'usage', message: error.message };
  if (error instanceof SubstratError) return { exitCode: 1, code: error.code, message: error.message };
  return { exitCode: 1, code: 'internal', message: String((error as Error).stack) };
}

/** Commander's words as sentences. */
function usageProblem({ code, message }: CommanderError, program: Command): string | null {
  // A command without its subcommand: its help was printed to stderr.
  if (code === 'commander.help') return isJsonWanted() ? 'Name a subcommand; --help lists them.' : null;
  const [what = '', ...hints] = message.replace(/^error: /, '').split('\n');
  const typed = /^unknown command '(.*)'$/.exec(what)?.[1];
  const elsewhere = typed === undefined ? [] : pathsTo(program, typed);
  const tips =
    elsewhere.length > 0
      ? [`Did you mean ${elsewhere.join(' or ')}?`]
      : hints.map((hint) => hint.replace(/^\((.*)\)$/, '$1'));
  const sentence = `${what.charAt(0).toUpperCase()}${what.slice(1)}`;
  return [sentence.endsWith('.') ? sentence : `${sentence}.`, ...tips, 'Add --help for usage.'].join(' ');
}

/** The commands with a subcommand of that name, such as `agent send` for `send`. */
function pathsTo(program: Command, name: string): string[] {
  return program.commands
    .filter((parent) => parent.commands.some((command) => command.name() === name))
    .map((parent) => `\`${program.name()} ${parent.name()} ${name}\``)
    .slice(0, 4);
}

/** From the arguments themselves, because they may be what is wrong. */
function isJsonWanted(): boolean {
  const given = process.argv.slice(2);
  const end = given.indexOf('--');
  return given.slice(0, end === -1 ? undefined : end).includes('--json');
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
