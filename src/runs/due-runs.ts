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
      const ends = (await spentPeople(tx, people, now))
        .filter(({ most }) => most === null)
        .map(({ handle }) => dayEndIn(people.timeZone(handle), now));
      return ends.length > 0 ? Math.min(...ends) : null;
    },
  };
  const poll: Due<Tx> = { next: async (_, now) => (pollMs === null ? null : now + pollMs) };
  return [lostLeases(options), parkedRuns(options.correspondence), spentTrees(options), start, allowances, poll];
}

/** Notifies the person once that a team or a schedule has used up its runs. A run triggers this, not a time. */
function spentTrees({ maxTreeRuns, correspondence }: DueRunsOptions): Due<Tx> {
  return {
    next: async () => null,
    isDue: async (tx) => (await tx.trees.listNewlyPaused({ maxTreeRuns })).length > 0,
    fire: async (tx, now) => {
      for (const { id, agentId, kind } of await tx.trees.listNewlyPaused({ maxTreeRuns })) {
        if (kind === 'schedule') {
          await tellSpent(tx, correspondence, id, agentId, now);
          continue;
        }
        const root = await tx.agents.getAgent({ id });
        await tx.trees.setToldPaused({ treeId: id });
        const text = `The team of ${root?.handle} has reached its limit: ${maxTreeRuns} runs since your last message (limits.max_tree_runs). Send a message to any of its agents to continue.`;
        if (root) await correspondence.tellPerson(tx, root, text, now);
      }
      return false;
    },
  };
}

async function tellSpent(
  tx: Tx,
  correspondence: DueRunsOptions['correspondence'],
  id: string,
  agentId: string,
  now: number,
): Promise<void> {
  const schedule = await tx.schedules.getSchedule({ id });
  const agent = await tx.agents.getAgent({ id: agentId });
  await tx.schedules.setToldSpent({ id });
  const text = `The schedule "${schedule?.name}" has used the ${schedule?.runs} runs of its last firing (runs), and ${agent?.handle} has more to do for it. It continues when the schedule fires again; if you remove the schedule, the team continues with its own runs.`;
  if (agent) await correspondence.tellPerson(tx, agent, text, now);
}
