import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Where this process answers `ctx search`; null if there is no home. Sockets of processes that were killed are removed. */
export function ownSocket(home: string): string | null {
  if (!existsSync(home)) return null;
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
