import type { Sandbox } from './sandbox.ts';

/** No confinement: programs run as the daemon's user. Set for the whole daemon and shown in every status output. */
export const noSandbox: Sandbox = {
  mode: 'none',
  problem: async () => null,
  confine: async (command) => ({ command, inside: () => null, traffic: () => 0, release: async () => {} }),
  tidy: async () => {},
};
