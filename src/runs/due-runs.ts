import type { Due } from '../core/due.ts';
import { dayEndIn } from '../core/local-times.ts';
import type { PeopleRules } from '../core/people.ts';
import { parkedRuns } from './budget-parking.ts';
import { type LeaseOptions, lostLeases } from './lost-leases.ts';
import { spentPeople } from './purse.ts';
import type { Tx } from './tx.ts';

export interface DueRunsOptions extends LeaseOptions {
  readonly maxTreeRuns: number;
  readonly people: PeopleRules;
  readonly pollMs: number | null;
}

/** What time alone brings to runs, in the order in which it happens. */
export function dueRuns(options: DueRunsOptions): Due<Tx>[] {
  const { nodeId, people, pollMs } = options;
  /** A run that was put off may start. */
  const start: Due<Tx> = { next: (tx, now) => tx.runs.getNextStart({ nodeId, now }) };
  /** People get new runs at midnight, each in their time zone. */
  const allowances: Due<Tx> = {
    next: async (tx, now) => {
      const ends = (await spentPeople(tx, people, now)).map(({ handle }) => dayEndIn(people.timeZone(handle), now));
      return ends.length > 0 ? Math.min(...ends) : null;
    },
  };
  const poll: Due<Tx> = { next: async (_, now) => (pollMs === null ? null : now + pollMs) };
  return [lostLeases(options), parkedRuns(options.correspondence), spentTrees(options), start, allowances, poll];
}

/** Notifies the person once that a team has used up its runs. A run triggers this, not a time. */
function spentTrees({ maxTreeRuns, correspondence }: DueRunsOptions): Due<Tx> {
  return {
    next: async () => null,
    isDue: async (tx) => (await tx.trees.listNewlyPaused({ maxTreeRuns })).length > 0,
    fire: async (tx, now) => {
      for (const { id } of await tx.trees.listNewlyPaused({ maxTreeRuns })) {
        const root = await tx.agents.getAgent({ id });
        await tx.trees.setToldPaused({ treeId: id });
        const text = `The team of ${root?.handle} has reached its limit: ${maxTreeRuns} runs since your last message (limits.max_tree_runs). Send a message to any of its agents to continue.`;
        if (root) await correspondence.tellPerson(tx, root, text, now);
      }
      return false;
    },
  };
}
