import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeHome } from '../config/home.ts';

/**
 * Where this process answers `ctx search`, in the home, which is created if it does not exist; null if it cannot be
 * used. Sockets of processes that were killed are removed.
 */
export function ownSocket(home: string): string | null {
  try {
    makeHome(home);
  } catch {
    return null;
  }
  for (const name of readdirSync(home)) {
    const pid = /^ctx-(\d+)\.sock$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(home, name), { force: true });
  }
  return join(home, `ctx-${process.pid}.sock`);
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
