import { Duplex } from 'node:stream';
import type { Command, Endpoint, ModelAnswer, Needs } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import type { OwnKind } from '../core/own-tool.ts';
import { cleanText } from '../core/text.ts';
import { watchAnswers } from './answers.ts';
import { classify } from './classify.ts';
import type { Description, InstalledProgram } from './description.ts';
import { turnEnvironment, type Variables } from './environment.ts';
import { type ProcessEnd, processFailure, runProcess } from './process.ts';
import type { Arrived, Launch, News, Provider, ProviderEvent, Turn } from './provider.ts';
import { createTurnstile } from './turnstile.ts';
import { conclude, type Failed, type Final, failed, maxLineBytes } from './verdict.ts';

/**
 * A program's output as events. Everything after `done` or `error` is ignored. `stop` kills the program immediately.
 */
export type Said = ProviderEvent | { readonly type: 'stop'; readonly failure: Failed };

/** Runs the program with these arguments outside a turn; returns the lines that it printed. */
type Ask = (args: readonly string[]) => Promise<readonly string[] | Failed>;

/** What is started for a turn: the program itself, or a program that it would start. */
export interface Started {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Variables;
}

/** How and where the program runs. */
export interface CliOptions {
  readonly command: string;
  /** Put before ours. */
  readonly args: readonly string[];
  /** The daemon's environment; the program gets its harmless part. */
  readonly env: Variables;
  /** Passed to the program unchanged. */
  readonly extraEnv: Variables;
  /** Runs in a sandbox. */
  readonly confined: boolean;
}

/** One turn with a program that is running. Created for each turn, because a line may depend on earlier lines. */
export interface Dialogue {
  /** Its stdin, which is closed afterwards. A program that must be answered gets a stream, which `parse` ends. */
  readonly input: string | AsyncIterable<string>;
  parse(line: string): readonly Said[];
  /** Inserts messages that arrived during the turn. Called after the program has named its session. */
  steer?(arrived: Arrived): void;
  /**
   * How long the program may take to exit after its final event; then it is killed, and the event counts. Without
   * this, only the time limit of the turn ends it.
   */
  readonly graceMs?: number;
}

/** Options of a program with tools of its own for a shell and files. */
export interface CodingOptions extends CliOptions {
  /** Off: it only gets Substrat's tools. */
  readonly ownTools: boolean;
}

/** The differences between programs. A method may throw a `SubstratError` for problems that a person has to fix. */
export interface CliProgram {
  readonly about: Description & { readonly program: InstalledProgram };
  /** What it does with tools of its own without asking: policies that ask or deny cannot hold for it. */
  readonly unjudged: readonly OwnKind[];
  /** Its files are in the workspace: without a sandbox, its agents in one workspace take turns. */
  readonly filesInWorkspace: boolean;
  /** Writes the files that it reads in a turn; returns how to restore the previous ones. */
  files(turn: Turn): (() => void) | Promise<() => void>;
  /** Additional environment variables; the configuration may override them. */
  env(turn: Turn): Variables;
  /** What it needs in a sandbox. */
  needs(turn: Turn): Needs;
  /**
   * Creates or chooses the session of an agent, which is stored before its first turn starts. Without this method, a
   * `session` event reports it.
   */
  newSession?(ask: Ask): Promise<string | Failed>;
  /** The command line of a turn. A session that is not the turn's own is new. */
  args(turn: Turn, session: string | null): readonly string[];
  /** What is said to it and what it says, for one turn. */
  dialogue(turn: Turn, session: string | null): Dialogue;
  /**
   * The tools that it has in addition to ours, if their number is limited: as far as known, and by asking their
   * servers.
   */
  readonly otherTools?: {
    known(workspace: string): number;
    ask(turn: Turn, confine: (server: Started) => Promise<Command>): Promise<number>;
  };
}

const ASIDE_MS = 60_000;
/** A program may name anything as its session. */
const LONGEST_SESSION = 1_000;
/** What a program has not read of what is said to it. */
const MOST_UNREAD = 32 * 1024 * 1024;

/**
 * Turns of an agent program on the command line, in a fresh process each. The version is checked once. If the program
 * lets us choose or create a session, it is stored before the first turn; every later turn resumes it. The final
 * event decides: a program that exits without one has crashed, whatever its exit code. A text is emitted when it is
 * complete, or as far as it got if it was interrupted.
 */
export function cliProvider(options: CliOptions, cli: CliProgram): Provider {
  const { about } = cli;
  const turnstile = createTurnstile();
  let versionKnown = false;

  async function* runTurn(turn: Turn): AsyncGenerator<ProviderEvent> {
    if (!versionKnown && about.program.versionProblem !== null) {
      const problem = await checkVersion(options, cli, turn);
      if (problem) return yield problem;
      versionKnown = true;
    }
    const alone = cli.filesInWorkspace && !options.confined;
    const leave = alone ? await turnstile(turn.workspace, turn.signal) : () => {};
    if (!leave) return yield { type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' };
    let putBack = () => {};
    try {
      putBack = await cli.files(turn);
      await checkTools(options, cli, turn);
      yield* converse(options, cli, turn);
    } catch (error) {
      // An invalid file of the workspace is reported to the person; other errors are rethrown.
      if (!(error instanceof SubstratError && ['bad_request', 'cap_reached', 'too_large'].includes(error.code)))
        throw error;
      yield { type: 'error', kind: 'invalid_request', message: error.message };
    } finally {
      putBack();
      leave();
    }
  }

  return { about, runTurn, unjudged: cli.unjudged, ...(cli.otherTools && { otherTools: cli.otherTools.known }) };
}

async function* converse(options: CliOptions, cli: CliProgram, turn: Turn): AsyncGenerator<ProviderEvent> {
  let { session } = turn;
  if (session === null && cli.newSession) {
    const made = await cli.newSession((args) => ask(options, cli, turn, args));
    if (typeof made !== 'string') return yield made;
    session = made;
    yield { type: 'session', session };
  }
  const answers = watchAnswers();
  const command = await confine(options, cli, turn, ours(options, cli.args(turn, session)), answers.saw);
  const { timeoutMs, launch } = turn;
  const leaving = new AbortController();
  const signal = AbortSignal.any([turn.signal, answers.signal, leaving.signal]);
  const { onSpawn, spawner } = launch;
  const { input, parse, graceMs, steer } = cli.dialogue(turn, session);
  let isSteered = steer === undefined;
  let final: Final | null = null;
  let unfinished = '';
  let oversized = 0;
  const begun = new Set<string>();
  let grace: NodeJS.Timeout | undefined;
  for await (const output of runProcess({ command, input, timeoutMs, signal, onSpawn, spawner, maxLineBytes })) {
    if (output.type === 'end') {
      clearTimeout(grace);
      if (unfinished) yield { type: 'text', text: cleanText(unfinished) };
      const isKilled = leaving.signal.aborted && output.reason === 'cancelled';
      const end = isKilled && final ? final : explained(conclude(output, final, oversized), output, final);
      return yield turn.signal.aborted ? end : answers.judge(end);
    }
    if (output.type === 'oversized') oversized++;
    if (output.type !== 'line' || final) continue;
    const heard = parse(output.text);
    if (unreadOf(input) > MOST_UNREAD) return yield failed('The program does not read the answers to its questions.');
    for (const said of heard) {
      if (final) break;
      switch (said.type) {
        case 'session':
          if (said.session.length > LONGEST_SESSION) return yield failed('The name of its session is too long.');
          if (session !== null && said.session !== session) return yield unknownSession(cli, session);
          if (session === null) yield said;
          session = said.session;
          if (steer && !isSteered) void insertNews(turn.news, steer);
          isSteered = true;
          break;
        case 'delta':
          if (unfinished.length < maxLineBytes) unfinished += said.text;
          yield said;
          break;
        case 'text':
          unfinished = '';
          if (said.text) yield { ...said, text: cleanText(said.text) };
          break;
        case 'tool_call':
          // Some programs report a call at its start and again, with its result, at its end.
          if (!said.ours && begun.has(said.id)) break;
          if (!said.ours) begun.add(said.id);
          yield said;
          break;
        case 'stop':
          return yield said.failure;
        case 'done':
        case 'error':
          if (said.type === 'done') unfinished = '';
          final = said;
          if (graceMs !== undefined) grace = setTimeout(() => leaving.abort(), graceMs).unref();
          break;
        default:
          if (said.type === 'tool_result') begun.delete(said.id);
          yield said;
      }
    }
  }
}

function unreadOf(input: Dialogue['input']): number {
  return input instanceof Duplex ? input.writableLength + input.readableLength : 0;
}

/** Wraps a program of the turn for the sandbox. */
function confine(
  options: CliOptions,
  cli: CliProgram,
  turn: Turn,
  started: Started,
  watch: NonNullable<Endpoint['onAnswer']> = () => {},
): Promise<Command> {
  const env: Record<string, string> = {
    ...cli.env(turn),
    ...turnEnvironment(turn, options.env, options.extraEnv),
    ...started.env,
  };
  // The login of an account is lent into the agent's home; its own directory is not in the sandbox.
  const login = cli.about.login?.file;
  if (options.confined && login) delete env[login.variable];
  const command = { file: started.file, args: started.args, cwd: turn.workspace, env };
  if (!options.confined) return turn.launch.confine(command);
  // A server of the workspace is named in a file that agents can write.
  const installed = started.file === options.command;
  const { endpoints, ...needs } = cli.needs(turn);
  const onAnswer = (answer: ModelAnswer): void => {
    watch(answer);
    turn.meter(answer);
  };
  const watched = endpoints?.map((endpoint) => ({ ...endpoint, onRequest: turn.admit, onAnswer }));
  return turn.launch.confine(command, { ...needs, installed, ...(watched && { endpoints: watched }) });
}

function ours({ command, args }: CliOptions, more: readonly string[]): Started {
  return { file: command, args: [...args, ...more] };
}

async function ask(options: CliOptions, cli: CliProgram, turn: Turn, args: readonly string[]): ReturnType<Ask> {
  const command = await confine(options, cli, turn, ours(options, args));
  const { lines, end } = await runAside(command, turn, turn.launch.onSpawn);
  return end.reason === 'exit' && end.exitCode === 0 ? lines : explained(processFailure(end), end);
}

/** Runs outside the sandbox, because it involves nothing from an agent. */
async function checkVersion(options: CliOptions, { about }: CliProgram, turn: Turn): Promise<Failed | null> {
  const env = turnEnvironment(turn, options.env, options.extraEnv);
  const command = { ...ours(options, ['--version']), cwd: '/', env };
  const { lines, end } = await runAside(command, turn, async () => {});
  if (end.reason === 'spawn_failed' && end.message.includes('no such file')) {
    return processFailure({ ...end, message: `${end.message} ${about.program.install}` });
  }
  if (end.reason !== 'exit' || end.exitCode !== 0) return processFailure(end);
  const problem = about.program.versionProblem?.(lines.join('\n')) ?? null;
  if (problem === null) return null;
  return { type: 'error', kind: 'invalid_request', message: `${options.command} cannot be used. ${problem}` };
}

async function checkTools(options: CliOptions, cli: CliProgram, turn: Turn): Promise<void> {
  const { name, maxTools, toolServers } = cli.about;
  if (maxTools === undefined) return;
  const own = await turn.launch.countTools();
  const others = await cli.otherTools?.ask(turn, (server) => confine(options, cli, turn, server));
  const tools = own + (others ?? 0);
  if (tools <= maxTools) return;
  const message = `${name} supports at most ${maxTools} tools; Substrat's tools and those of the workspace's ${toolServers} are ${tools}.`;
  throw new SubstratError('cap_reached', message);
}

async function runAside(command: Command, { timeoutMs, signal }: Turn, onSpawn: Launch['onSpawn']) {
  const lines: string[] = [];
  const limits = { timeoutMs: Math.min(timeoutMs, ASIDE_MS), maxOutputBytes: maxLineBytes };
  for await (const output of runProcess({ command, input: '', signal, onSpawn, ...limits })) {
    if (output.type === 'end') return { lines, end: output };
    if (output.type === 'line') lines.push(output.text);
  }
  throw new Error('The process ended without an end event.');
}

/** If the program reported no failure itself, stderr often says why. */
function explained<F extends Final>(verdict: F, end: ProcessEnd, reported: Final | null = null): F {
  const isUnexplained = verdict.type === 'error' && verdict.kind === 'crash' && reported?.type !== 'error';
  return isUnexplained && end.stderr ? { ...verdict, ...classify(end.stderr) } : verdict;
}

async function insertNews(news: News, steer: (arrived: Arrived) => void): Promise<void> {
  for (let arrived = await news.next(); arrived; arrived = await news.next()) steer(arrived);
}

function unknownSession({ about }: CliProgram, session: string): Failed {
  return {
    type: 'error',
    kind: 'bad_session',
    message: `${about.name} no longer has the session ${session}.`,
  };
}
