import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const NAMES = [
  'closeSync',
  'existsSync',
  'fstatSync',
  'lstatSync',
  'mkdirSync',
  'openSync',
  'realpathSync',
  'rmdirSync',
  'rmSync',
  'statSync',
  'unlinkSync',
] as const;

/**
 * Runs the work and calls `before` with a number before each of its file system calls, as if another program got its
 * turn just then. Returns the number of calls.
 */
export async function betweenCalls(work: () => unknown, before: (call: number) => void): Promise<number> {
  const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const originals = NAMES.map((name) => [name, functions[name] as (...args: unknown[]) => unknown] as const);
  let calls = 0;
  let inside = false;
  for (const [name, original] of originals) {
    functions[name] = (...args) => {
      // The other program's own calls are not counted.
      if (!inside) {
        inside = true;
        before(calls);
        inside = false;
        calls += 1;
      }
      return original(...args);
    };
  }
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    for (const [name, original] of originals) functions[name] = original;
    syncBuiltinESMExports();
  }
  return calls;
}
