import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Command } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import { withUserUmask } from '../core/umask.ts';
import type { Confined, Enclosure, Sandbox } from './sandbox.ts';

export interface RunLimits {
  readonly timeoutMs: number;
  /** A program that prints more is killed; what it has printed so far is returned. */
  readonly maxBytes: number;
  /** Kills it. */
  readonly signal?: AbortSignal;
  /** Called before it starts, so that it can be watched. */
  readonly onConfined?: (confined: Pick<Confined, 'inside'>) => void;
}

export interface RunResult {
  /** Null if it was killed. */
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  /** The beginning of it. */
  readonly stderr: string;
  /** It was killed because it printed too much. */
  readonly truncated: boolean;
}

const STDERR_BYTES = 4_000;

/**
 * Runs a short program in a sandbox and waits until no process of it is alive. What it prints is foreign input: an
 * agent may have decided it. Without a sandbox nothing is run.
 */
export async function runConfined(
  sandbox: Sandbox,
  command: Command,
  enclosure: Enclosure,
  limits: RunLimits,
): Promise<RunResult> {
  if (sandbox.mode === 'none') {
    const message = 'This needs a sandbox: without one, files of an agent could run programs with your permissions.';
    throw new SubstratError('unsupported', message);
  }
  const confined = await sandbox.confine(command, {}, enclosure);
  limits.onConfined?.(confined);
  try {
    return await collect(confined.command, limits);
  } finally {
    await confined.release();
  }
}

function collect({ file, args, cwd, env, files = [] }: Command, { timeoutMs, maxBytes, signal }: RunLimits) {
  signal?.throwIfAborted();
  const opened: number[] = [];
  const given = files.map((one) => {
    if (typeof one === 'number') return one;
    if (typeof one === 'object') throw new Error('a short program has no network');
    opened.push(openSync(one, 'r'));
    return opened.at(-1) as number;
  });
  const child = withUserUmask(() =>
    spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe', ...given] }),
  );
  for (const descriptor of opened) closeSync(descriptor);
  return new Promise<RunResult>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let [size, stderr, truncated, late] = [0, '', false, false];
    const kill = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has already exited.
      }
    };
    const timer = setTimeout(() => {
      late = true;
      kill();
    }, timeoutMs);
    signal?.addEventListener('abort', kill);
    child.stdout?.on('data', (chunk: Buffer) => {
      if (truncated) return;
      chunks.push(chunk.subarray(0, maxBytes - size));
      size += chunk.length;
      truncated = size > maxBytes;
      if (truncated) kill();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      if (stderr.length < STDERR_BYTES) stderr += chunk.toString('utf8', 0, STDERR_BYTES);
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (exitCode) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', kill);
      if (signal?.aborted) reject(signal.reason);
      else if (late) reject(new SubstratError('timeout', `It took longer than ${timeoutMs / 1000} seconds.`));
      else resolve({ exitCode, stdout: Buffer.concat(chunks), stderr, truncated });
    });
  });
}
