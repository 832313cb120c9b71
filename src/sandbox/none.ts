import type { Sandbox } from './sandbox.ts';

/** No confinement: programs run as the daemon's user. A choice for the whole daemon, shown wherever state is shown. */
export const noSandbox: Sandbox = {
  mode: 'none',
  problem: async () => null,
  confine: async (command) => ({ command, release: async () => {} }),
  tidy: async () => {},
};
