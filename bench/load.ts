import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Where a client connects; an agent's socket first expects the agent's id. */
export interface Seat {
  readonly path: string;
  readonly agentId: string | null;
}

export interface LoadOptions {
  readonly seats: readonly Seat[];
  readonly recipient: string;
  /** Without the SDK, so that many clients need little CPU. */
  readonly plain: boolean;
}

export interface LoadOrder {
  /** The number of sequential calls of each client. */
  readonly calls: number;
}

export interface LoadAnswer {
  readonly ms: number;
  /** The duration of each call, in milliseconds. */
  readonly took: readonly number[];
  /** How busy the clients' process was; at 1 the clients are what is measured. */
  readonly cpu: number;
}

/** Starts a program of `programs/` that reports when it is ready and ends when this process disconnects from it. */
export async function startProgram(name: string, args: readonly string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL(`programs/${name}`, import.meta.url)), args);
  const failed = once(child, 'exit').then(() => {
    throw new Error(`${name} ended before it was ready`);
  });
  failed.catch(() => {});
  await Promise.race([once(child, 'message'), failed]);
  return child;
}

export async function askLoad(load: ChildProcess, order: LoadOrder): Promise<LoadAnswer> {
  const gone = once(load, 'exit').then(() => {
    throw new Error('the clients ended before they were done');
  });
  gone.catch(() => {});
  load.send(order);
  const [answer] = await Promise.race([once(load, 'message'), gone]);
  return answer as LoadAnswer;
}
