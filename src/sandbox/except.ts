import { noSandbox } from './none.ts';
import type { Sandbox } from './sandbox.ts';

/**
 * If the sandbox is unavailable, one program of our own runs without it, so that the demo works. No other program
 * does.
 */
export function exceptFor(program: string, sandbox: Sandbox): Sandbox {
  return {
    ...sandbox,
    confine: async (command, needs, enclosure) => {
      const isOurs = needs.programs?.length === 1 && needs.programs[0] === program;
      const bare = isOurs && (await sandbox.problem()) !== null;
      return (bare ? noSandbox : sandbox).confine(command, needs, enclosure);
    },
  };
}
