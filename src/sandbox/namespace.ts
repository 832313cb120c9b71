import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A sandbox that has begun: its first process, and the PID namespace of all its processes. */
export interface Inside {
  readonly pid: number;
  readonly namespace: number;
}

const PATIENCE_MS = 5_000;

/**
 * Kills a sandbox and waits until no process lives in it. Its first process becomes a zombie or disappears only after
 * all others in its PID namespace are dead. The wait is bounded, because a process can be in uninterruptible sleep.
 */
export async function endNamespace(informationFile: string): Promise<void> {
  const inside = readInside(informationFile);
  if (inside === null) return;
  const deadline = performance.now() + PATIENCE_MS;
  for (let wait = 1; isAlive(inside) && performance.now() < deadline; wait = Math.min(50, wait * 2)) {
    kill(inside.pid);
    await sleep(wait);
  }
}

/** The pid belongs to our process as long as it is in that namespace. */
export function isAlive({ pid, namespace }: Inside): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/ns/pid`) !== `pid:[${namespace}]`) return false;
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** The kernel kills all other processes of the namespace with its first one. */
export function killInside(inside: Inside): void {
  if (isAlive(inside)) kill(inside.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already exited.
  }
}

/** What bwrap reported before anything ran. Null if it did not get that far; its processes are then in its process group. */
export function readInside(informationFile: string): Inside | null {
  try {
    const { 'child-pid': pid, 'pid-namespace': namespace } = JSON.parse(readFileSync(informationFile, 'utf8'));
    return Number.isInteger(pid) && Number.isInteger(namespace) ? { pid, namespace } : null;
  } catch {
    return null;
  }
}
