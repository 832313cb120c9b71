import { messagesOfRuns } from '../../src/daemon/correspondence.ts';
import type { StartOptions } from '../../src/runs/start.ts';

/** What a run is started with where neither purses nor providers matter. */
export const starting: StartOptions = {
  traced: false,
  purse: { maxTreeRuns: 1_000_000, spent: [] },
  seats: {
    accounts: () => [],
    isReady: () => true,
    refusals: async () => () => false,
    describe: ({ provider }) => provider,
  },
  budgets: { prices: () => null, reportsCost: () => false, usesModel: () => true, timeZone: () => 'UTC' },
  correspondence: messagesOfRuns,
};
