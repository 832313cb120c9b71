import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The yardstick of everything that starts: Node itself, from spawn to exit. In milliseconds. */
export async function startNode(): Promise<number> {
  const begin = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - begin;
}
