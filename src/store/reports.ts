import { sql } from 'kysely';
import type { AgentId } from '../core/ids.ts';
import type { Queries } from './query.ts';

/** What happened since a time. */
export interface Reports {
  /** The runs that were created since then, by agent, the costliest first. */
  listWork(p: { since: number; limit: number }): Promise<Work[]>;
}

export interface Work {
  readonly agentId: AgentId;
  readonly handle: string;
  readonly runs: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export function reportQueries({ db, all }: Queries): Reports {
  const inState = (state: string) => sql<number>`sum(case when runs.state = ${sql.lit(state)} then 1 else 0 end)`;
  // Not the column itself: SQLite would read all runs in its order to group them, and not those of the time.
  const agentId = sql<AgentId>`coalesce(runs.agent_id, '')`;
  const work = all((p: { since: number; limit: number }) =>
    db
      .selectFrom('runs')
      .innerJoin('agents', 'agents.id', 'runs.agentId')
      .select((eb) => [
        agentId.as('agentId'),
        'agents.handle',
        eb.fn.countAll<number>().as('runs'),
        inState('completed').as('completed'),
        inState('failed').as('failed'),
        inState('cancelled').as('cancelled'),
        eb.fn.sum<number>('runs.inputTokens').as('inputTokens'),
        eb.fn.sum<number>('runs.outputTokens').as('outputTokens'),
        eb.fn.sum<number>('runs.costUsd').as('costUsd'),
      ])
      .where('runs.createdAt', '>=', p.since)
      .groupBy([agentId, 'agents.handle'])
      .orderBy('costUsd', 'desc')
      .orderBy('runs', 'desc')
      .orderBy('agents.handle')
      .limit(p.limit),
  );
  return {
    // PostgreSQL returns sums of whole numbers as text.
    listWork: async (p) =>
      (await work(p)).map(({ agentId, handle, ...sums }) => ({
        agentId,
        handle,
        runs: Number(sums.runs),
        completed: Number(sums.completed),
        failed: Number(sums.failed),
        cancelled: Number(sums.cancelled),
        inputTokens: Number(sums.inputTokens),
        outputTokens: Number(sums.outputTokens),
        costUsd: Number(sums.costUsd),
      })),
  };
}
