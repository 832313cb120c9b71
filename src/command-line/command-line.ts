import { Command, CommanderError } from 'commander';
import { resolveHome } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';
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
  const alone = named === undefined || named === 'completions' ? undefined : about.commands[named];
  for (const load of alone ? [alone] : Object.values(about.commands)) program.addCommand(await load(context));
  for (const command of everyCommand(program)) command.exitOverride().showHelpAfterError('Add --help for usage.');
  return program;
}

/** Runs it with the process's arguments and sets the exit code: 0 success, 1 failure, 2 wrong usage. */
export async function runCommandLine(create: (named?: string) => Promise<Command>): Promise<void> {
  // The reader may close the pipe early (`| head`); EPIPE is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  // If an option comes before the command, all commands are loaded.
  const program = await create(process.argv[2]);
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error, program.name());
  }
}

function exitCodeOf(error: unknown, name: string): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const known = error instanceof SubstratError || error instanceof UsageError;
  process.stderr.write(`${name}: ${harmless(known ? error.message : String((error as Error).stack))}\n`);
  return error instanceof UsageError ? 2 : 1;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
