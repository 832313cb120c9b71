import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { Server } from 'node:net';
import { pipeline, Readable, type Writable } from 'node:stream';
import type { Command, SocketReceiver } from '../core/command.ts';
import { type FailureKind, troubleOf } from '../core/failure.ts';
import { turnOfOthers } from '../core/turn-of-others.ts';
import { withUserUmask } from '../core/umask.ts';
import { type Line, lineSplitter } from './lines.ts';
import { tail, untilSilent } from './pipes.ts';
import { killGroup, type ProcessGroup, processStartTime, signalGroup } from './process-group.ts';
import type { Exit, Program } from './program.ts';
import type { ProviderEvent } from './provider.ts';
import type { Spawner } from './spawner.ts';

export { endProcessGroup, endRun, Unrelated } from './process-group.ts';

export interface ProcessOptions {
  readonly command: Command;
  /** Stdin is closed after it. */
  readonly input: string | AsyncIterable<string>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Awaited before the program gets its input, as are the sockets that it sends. A rejection is thrown to the consumer once the program is dead. */
  readonly onSpawn: (group: ProcessGroup) => Promise<void>;
  /** Starts the program in place of this process, if it can. */
  readonly spawner?: Spawner | undefined;
  readonly maxLineBytes?: number;
  readonly maxOutputBytes?: number;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
}

export type ProcessOutput =
  | { readonly type: 'line'; readonly text: string }
  /** A dropped line that exceeded the limit. */
  | { readonly type: 'oversized' }
  | ProcessEnd;

/** Always the last output. `reason` says what ended the program; exit code and signal say how it exited. */
export interface ProcessEnd {
  readonly type: 'end';
  /** `no_resources`: the machine or this process has run out of something needed to start a program. */
  readonly reason: 'exit' | 'spawn_failed' | 'no_resources' | 'lost' | StopReason;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The same as a sentence for people. */
  readonly message: string;
  /** The last 8 KiB. */
  readonly stderr: string;
}

type StopReason = 'timeout' | 'cancelled' | 'output_limit';

const LONG_LINE = 100_000;
const MiB = 1024 * 1024;
const longestTimerMs = 2 ** 31 - 1;
const ignore = () => undefined;

/**
 * Runs a program in its own process group and yields its output by lines, with backpressure. Ends when the whole
 * group is dead; a consumer that leaves early also kills the group.
 */
export async function* runProcess(options: ProcessOptions): AsyncGenerator<ProcessOutput, void, undefined> {
  const { timeoutMs, maxLineBytes = MiB, maxOutputBytes = 256 * MiB } = options;
  if (options.signal.aborted)
    return yield notStarted('cancelled', 'The turn was cancelled before its program started.');
  const program = await start(options.command, options.spawner);
  if ('problem' in program) return yield program.problem;

  const watch = supervise(program, options);
  const stderr = tail(program.stderr);
  const lines = lineSplitter(maxLineBytes);
  try {
    await options.onSpawn(program.group);
    await Promise.race([program.ready, watch.groupDead]);
    feed(program.stdin, options.input);
    let bytes = 0;
    for await (const chunk of untilSilent(program.stdout, watch.groupDead)) {
      bytes += chunk.length;
      if (bytes > maxOutputBytes) {
        watch.stop('output_limit');
        break;
      }
      for (const line of lines.push(chunk)) {
        // Processing a long line takes a while, here and in the consumer.
        if (line !== null && line.length > LONG_LINE) await turnOfOthers();
        yield toOutput(line);
      }
    }
    for (const line of lines.flush()) yield toOutput(line);
    const exit = await watch.groupDead;
    const { exitCode, signal } = exit;
    const reason = watch.stopReason() ?? (exit.isLost ? 'lost' : 'exit');
    const message = {
      exit: signal ? `The program was killed by ${signal}.` : `The program exited with code ${exitCode}.`,
      lost: 'The program was ended because the process of Substrat that starts programs has ended.',
      timeout: `The program was killed at its time limit of ${timeoutMs / 1000} s.`,
      cancelled: 'The turn was cancelled.',
      output_limit: `The program was killed because it printed more than ${maxOutputBytes} bytes.`,
    }[reason];
    yield { type: 'end', reason, exitCode, signal, message, stderr: await stderr() };
  } finally {
    watch.stop('cancelled');
    await watch.groupDead;
    program.close();
  }
}

function feed(stdin: Writable, input: ProcessOptions['input']): void {
  if (typeof input === 'string') stdin.end(input);
  else pipeline(Readable.from(input), stdin, ignore);
}

/** The failure for an end without another failure from the program. */
export function processFailure(end: ProcessEnd): Extract<ProviderEvent, { type: 'error' }> {
  return { type: 'error', kind: kindOf(end.reason), message: `${end.message}\n${end.stderr}`.trim() };
}

function kindOf(reason: ProcessEnd['reason']): FailureKind {
  if (reason === 'no_resources' || reason === 'lost') return 'resources';
  return reason === 'timeout' || reason === 'cancelled' ? reason : 'crash';
}

async function start(command: Command, spawner: Spawner | undefined): Promise<Program | { problem: ProcessEnd }> {
  try {
    return await (spawner?.start(command) ?? startHere(command));
  } catch (error) {
    const reason = troubleOf(error) === 'resources' ? ('no_resources' as const) : ('spawn_failed' as const);
    return { problem: notStarted(reason, whyNotStarted(command, error as NodeJS.ErrnoException)) };
  }
}

/** As a child of this process. */
async function startHere({ file, args, cwd, env, files = [] }: Command): Promise<Program> {
  const opened: number[] = [];
  let child: ChildProcessWithoutNullStreams;
  try {
    const given = files.map((file) => {
      if (typeof file === 'number') return file;
      if (typeof file === 'object') return 'ipc' as const;
      opened.push(openSync(file, 'r'));
      return opened.at(-1) as number;
    });
    const stdio = ['pipe' as const, 'pipe' as const, 'pipe' as const, ...given];
    child = withUserUmask(() =>
      spawn(file, args, { cwd, env, detached: true, stdio }),
    ) as ChildProcessWithoutNullStreams;
    if (child.pid === undefined) throw (await once(child, 'error'))[0];
  } finally {
    for (const fd of opened) closeSync(fd);
  }
  const { pid, stdin, stdout, stderr } = child;
  // Without a listener, Node discards unread output when the program exits, and `onSpawn` may still be running.
  stdout.on('readable', ignore);
  // A program that does not read its input breaks the pipe, which is not an error.
  for (const stream of child.stdio) stream?.on('error', ignore);
  child.on('error', ignore);
  const receiver = files.find((file) => typeof file === 'object');
  const ready = receiver && takeSockets(child, receiver);
  const group: ProcessGroup = { pid, startedAt: processStartTime(pid) ?? '' };
  const exited = new Promise<Exit>((resolve) =>
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal, isLeft: true })),
  );
  const signal = (name: NodeJS.Signals) => void signalGroup(pid, name);
  const close = () => {
    for (const stream of child.stdio) stream?.destroy();
  };
  return { group, stdin, stdout, stderr, exited, ready, signal, close };
}

/** Resolves when all have been taken. */
function takeSockets(child: ChildProcess, receiver: SocketReceiver): Promise<void> {
  let taken = 0;
  return new Promise((resolve) => {
    child.on('message', (_, listening) => {
      if (taken === receiver.count || !(listening instanceof Server)) return;
      receiver.receive(listening, taken++);
      if (taken < receiver.count) return;
      child.disconnect();
      resolve();
    });
  });
}

function whyNotStarted({ file, cwd }: Command, { code, message, syscall }: NodeJS.ErrnoException): string {
  if (!existsSync(cwd)) return `The program ${file} could not be started: its directory ${cwd} does not exist.`;
  if (code === 'ENOENT' && syscall !== 'open')
    return `The program ${file} could not be started: there is no such file.`;
  if (code === 'EACCES') return `The program ${file} could not be started: it is not executable.`;
  return `The program ${file} could not be started: ${message}.`;
}

/**
 * Kills the group at its timeout, on cancel, or on request: SIGTERM, then SIGKILL after the grace period. However the
 * leader exited, the rest of its group is killed. After that its id may be reused, so nothing is signalled any more.
 */
function supervise(
  { group, exited, signal: send }: Pick<Program, 'group' | 'exited' | 'signal'>,
  { timeoutMs, signal, graceMs = 2_000 }: ProcessOptions,
) {
  let reason: StopReason | null = null;
  let alive = true;
  let grace: NodeJS.Timeout | undefined;

  function stop(why: StopReason): void {
    if (reason || !alive) return;
    reason = why;
    send('SIGTERM');
    grace = setTimeout(() => send('SIGKILL'), graceMs);
  }

  const cancel = () => stop('cancelled');
  const timer = setTimeout(() => stop('timeout'), Math.min(timeoutMs, longestTimerMs));
  signal.addEventListener('abort', cancel);
  if (signal.aborted) cancel();
  const groupDead = exited.then(async (exit) => {
    alive = false;
    clearTimeout(timer);
    clearTimeout(grace);
    signal.removeEventListener('abort', cancel);
    if (exit.isLeft) await killGroup(group.pid);
    return exit;
  });
  return { stop, groupDead, stopReason: () => reason };
}

function notStarted(reason: 'cancelled' | 'spawn_failed' | 'no_resources', message: string): ProcessEnd {
  return { type: 'end', reason, exitCode: null, signal: null, message, stderr: '' };
}

function toOutput(line: Line): ProcessOutput {
  return line === null ? { type: 'oversized' } : { type: 'line', text: line };
}
