import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The baseline of everything that starts: Node itself, from spawn to exit, in milliseconds. */
export async function startNode(): Promise<number> {
  const begin = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - begin;
}
