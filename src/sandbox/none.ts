import type { Sandbox } from './sandbox.ts';

/** No confinement: programs run as the daemon's user. A choice for the whole daemon, shown wherever state is shown. */
export const noSandbox: Sandbox = {
  mode: 'none',
  confine: async (command) => ({ command, release: async () => {} }),
};
