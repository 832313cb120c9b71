import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What bwrap writes about a sandbox before anything runs in it. */
interface Information {
  readonly 'child-pid': number;
  readonly 'pid-namespace': number;
}

const PATIENCE_MS = 5_000;

/**
 * Ends a sandbox and waits until nothing lives in it. Its first process is a zombie or gone only when all others of its
 * PID namespace are dead, whatever they did to hide. Bounded: an uninterruptible wait must not hold us.
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

/** The process of that number is ours as long as it is in that namespace. */
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
    // It has ended by itself.
  }
}

/** Null when bwrap did not come so far; its processes are in the group of its own then. */
function read(file: string): Information | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
