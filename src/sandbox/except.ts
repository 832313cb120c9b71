import { noSandbox } from './none.ts';
import type { Sandbox } from './sandbox.ts';

/** Where the sandbox cannot be made, one program that is our own runs without it, so that the demo can be seen. No other does. */
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
