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
import type { ProviderEvent } from './provider.ts';

export { endProcessGroup, endRun, Unrelated } from './process-group.ts';

export interface ProcessOptions {
  readonly command: Command;
  /** Stdin is closed after it. */
  readonly input: string | AsyncIterable<string>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Awaited before the program gets its input, as are the sockets that it sends. A rejection is thrown to the consumer once the program is dead. */
  readonly onSpawn: (group: ProcessGroup) => Promise<void>;
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
  readonly reason: 'exit' | 'spawn_failed' | 'no_resources' | StopReason;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The same as a sentence for people. */
  readonly message: string;
  /** The last 8 KiB. */
  readonly stderr: string;
}

type StopReason = 'timeout' | 'cancelled' | 'output_limit';

interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

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
  const started = await start(options.command);
  if ('problem' in started) return yield started.problem;

  const { child, group } = started;
  const watch = supervise(started, options);
  const stderr = tail(child.stderr);
  const lines = lineSplitter(maxLineBytes);
  try {
    await options.onSpawn(group);
    await Promise.race([started.ready, watch.groupDead]);
    feed(child.stdin, options.input);
    let bytes = 0;
    for await (const chunk of untilSilent(child.stdout, watch.groupDead)) {
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
    const reason = watch.stopReason() ?? 'exit';
    const message = {
      exit: exit.signal
        ? `The program was killed by ${exit.signal}.`
        : `The program exited with code ${exit.exitCode}.`,
      timeout: `The program was killed at its time limit of ${timeoutMs / 1000} s.`,
      cancelled: 'The turn was cancelled.',
      output_limit: `The program was killed because it printed more than ${maxOutputBytes} bytes.`,
    }[reason];
    yield { type: 'end', reason, ...exit, message, stderr: await stderr() };
  } finally {
    watch.stop('cancelled');
    await watch.groupDead;
    for (const stream of child.stdio) stream?.destroy();
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
  if (reason === 'no_resources') return 'resources';
  return reason === 'timeout' || reason === 'cancelled' ? reason : 'crash';
}

async function start(command: Command) {
  const { file, args, cwd, env, files = [] } = command;
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
  } catch (error) {
    const reason = troubleOf(error) === 'resources' ? ('no_resources' as const) : ('spawn_failed' as const);
    return { problem: notStarted(reason, whyNotStarted(command, error as NodeJS.ErrnoException)) };
  } finally {
    for (const fd of opened) closeSync(fd);
  }
  // Without a listener, Node discards unread output when the program exits, and `onSpawn` may still be running.
  child.stdout.on('readable', ignore);
  // A program that does not read its input breaks the pipe, which is not an error.
  for (const stream of child.stdio) stream?.on('error', ignore);
  child.on('error', ignore);
  const receiver = files.find((file) => typeof file === 'object');
  const ready = receiver && takeSockets(child, receiver);
  const group: ProcessGroup = { pid: child.pid, startedAt: processStartTime(child.pid) ?? '' };
  const exited = new Promise<Exit>((resolve) =>
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal })),
  );
  return { child, group, exited, ready };
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
  { group, exited }: { readonly group: ProcessGroup; readonly exited: Promise<Exit> },
  { timeoutMs, signal, graceMs = 2_000 }: ProcessOptions,
) {
  let reason: StopReason | null = null;
  let alive = true;
  let grace: NodeJS.Timeout | undefined;

  function stop(why: StopReason): void {
    if (reason || !alive) return;
    reason = why;
    signalGroup(group.pid, 'SIGTERM');
    grace = setTimeout(() => signalGroup(group.pid, 'SIGKILL'), graceMs);
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
    await killGroup(group.pid);
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
