import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What bwrap reports about a sandbox before anything runs in it. */
interface Information {
  readonly 'child-pid': number;
  readonly 'pid-namespace': number;
}

const PATIENCE_MS = 5_000;

/**
 * Kills a sandbox and waits until no process lives in it. Its first process becomes a zombie or disappears only after
 * all others in its PID namespace are dead. The wait is bounded, because a process can be in uninterruptible sleep.
 */
export async function endNamespace(informationFile: string): Promise<void> {
  const information = read(informationFile);
  if (information === null) return;
  const deadline = performance.now() + PATIENCE_MS;
  for (let wait = 1; isAlive(information) && performance.now() < deadline; wait = Math.min(50, wait * 2)) {
    kill(information['child-pid']);
    await sleep(wait);
  }
}

/** The pid belongs to our process as long as it is in that namespace. */
function isAlive({ 'child-pid': pid, 'pid-namespace': namespace }: Information): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/ns/pid`) !== `pid:[${namespace}]`) return false;
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already exited.
  }
}

/** Returns null if bwrap did not get that far; its processes are then in its process group. */
function read(file: string): Information | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
