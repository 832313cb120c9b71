import { type RawBuilder, sql } from 'kysely';
import type { AgentId, RunId } from '../core/ids.ts';
import { dayOf, type Run, type Usage } from '../core/run.ts';
import { USAGE_GRADES, type UsageGrade } from '../core/usage.ts';
import type { Queries } from './query.ts';
import type { UsageFilter } from './views.ts';

export interface UsageTotals {
  getUsage(p: { agentId: AgentId }): Promise<Usage>;
  getTotalUsage(): Promise<Usage>;
  /** By agent, tree or day (its number since 1970, UTC); the costliest or latest first. */
  listUsage(p: UsageFilter): Promise<(Usage & { readonly key: string; readonly grade: UsageGrade | null })[]>;
  /** Adds ended runs to the totals. Returns how many. */
  tallyRuns(p: { limit: number }): Promise<number>;
  /** Before the usage of a run changes: takes it out of the totals, if it is in them. */
  untallyRun(p: { id: RunId }): Promise<void>;
}

const DAY_MS = 86_400_000;
/** More than anything runs for. */
const MOST_DAYS = 100_000;
/** In the column `day`: the sum of all days. */
const EVER = -1;

type Kind = UsageFilter['by'];
type Tallied = Pick<
  Run,
  'agentId' | 'treeId' | 'createdAt' | 'inputTokens' | 'outputTokens' | 'costUsd' | 'usageGrade'
>;
type Sums = Usage & Record<UsageGrade, number>;
type Total = Sums & { readonly kind: Kind; readonly key: string; readonly day: number };

const TALLIED = ['agentId', 'treeId', 'createdAt', 'inputTokens', 'outputTokens', 'costUsd', 'usageGrade'] as const;

/**
 * What turns cost. Ended runs are added to totals some time later, many at once, so that a turn does not pay for it;
 * until then they are summed with the totals. A run whose usage becomes known later leaves the totals until the next
 * time.
 */
export function usageTotals({ engine, db, all, put, one, fetch }: Queries): UsageTotals {
  const markTallied = all((p: { limit: number }) =>
    db
      .updateTable('runs')
      .set({ tallied: true })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('runs as ended')
          .select('ended.id')
          .where('ended.tallied', '=', false)
          .where('ended.state', 'not in', ['created', 'running'])
          .limit(p.limit),
      )
      .where('tallied', '=', false)
      .returning(TALLIED),
  );
  const unmark = one((p: { id: string }) =>
    db
      .updateTable('runs')
      .set({ tallied: false })
      .where('id', '=', p.id)
      .where('tallied', '=', true)
      .returning(TALLIED),
  );
  const add = put((p: Total) =>
    db
      .insertInto('usage_totals')
      .values({
        kind: p.kind,
        key: p.key,
        day: p.day,
        runs: p.runs,
        inputTokens: p.inputTokens,
        outputTokens: p.outputTokens,
        costUsd: p.costUsd,
        metered: p.metered,
        reported: p.reported,
        assumed: p.assumed,
      })
      .onConflict((conflict) =>
        conflict.columns(['kind', 'key', 'day']).doUpdateSet((row) => ({
          runs: row('usage_totals.runs', '+', row.ref('excluded.runs')),
          inputTokens: row('usage_totals.inputTokens', '+', row.ref('excluded.inputTokens')),
          outputTokens: row('usage_totals.outputTokens', '+', row.ref('excluded.outputTokens')),
          costUsd: row('usage_totals.costUsd', '+', row.ref('excluded.costUsd')),
          metered: row('usage_totals.metered', '+', row.ref('excluded.metered')),
          reported: row('usage_totals.reported', '+', row.ref('excluded.reported')),
          assumed: row('usage_totals.assumed', '+', row.ref('excluded.assumed')),
        })),
      ),
  );
  const ofAgent = one((p: { agentId: string }) => {
    const total = db
      .selectFrom('usage_totals')
      .select(['runs', 'inputTokens', 'outputTokens', 'costUsd'])
      .where('kind', '=', 'agent')
      .where('key', '=', p.agentId)
      .where('day', '=', EVER);
    const recent = db
      .selectFrom('runs')
      .select([sql<number>`1`.as('runs'), 'inputTokens', 'outputTokens', 'costUsd'])
      .where('agentId', '=', p.agentId)
      .where('tallied', '=', false);
    return db
      .selectFrom(total.unionAll(recent).as('parts'))
      .select((eb) => [
        eb.fn.sum<number>('runs').as('runs'),
        eb.fn.sum<number>('inputTokens').as('inputTokens'),
        eb.fn.sum<number>('outputTokens').as('outputTokens'),
        eb.fn.sum<number>('costUsd').as('costUsd'),
      ]);
  });
  const summed = async (query: RawBuilder<Sums & { key: string }>) =>
    (await fetch({ compile: () => query.compile(db) }))
      .filter(({ runs }) => Number(runs) > 0)
      .map((row) => ({ key: row.key, ...toUsage(row), grade: worst(row) }));
  const addAll = async (totals: readonly Total[]) => {
    // Always in the same order.
    const nameOf = ({ kind, key, day }: Total) => `${kind} ${key} ${day}`;
    for (const total of totals.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) await add(total);
  };

  return {
    getTotalUsage: async (): Promise<Usage> => {
      const everything = { by: 'day', since: 0, until: Number.MAX_SAFE_INTEGER, limit: MOST_DAYS } as const;
      return (await summed(within(everything))).reduce(added, toUsage(null));
    },
    getUsage: async (p: { agentId: string }): Promise<Usage> => toUsage(await ofAgent(p)),
    /** Totals by agent, tree or day (in UTC, as its number since 1970), the most expensive or the latest first. */
    listUsage: (p: UsageFilter) => {
      const isEver = p.by !== 'day' && p.since <= 0 && p.until >= Number.MAX_SAFE_INTEGER;
      return summed(isEver ? ever(p) : within(p));
    },
    /** Adds ended runs to the totals. Returns how many. */
    tallyRuns: async (p: { limit: number }): Promise<number> => {
      const runs = await markTallied(p);
      await addAll(totalsOf(runs, 1));
      return runs.length;
    },
    untallyRun: async (p: { id: string }): Promise<void> => {
      const run = await unmark(p);
      if (run) await addAll(totalsOf([run], -1));
    },
  };

  /** The costliest of all time: those of the totals, and those with runs that are not in the totals. */
  function ever({ by, limit }: UsageFilter): RawBuilder<Sums & { key: string }> {
    const total = sql`select key, ${COLUMNS} from usage_totals`;
    const mine = sql`kind = ${sql.lit(by)} and day = ${sql.lit(EVER)}`;
    const column = sql.ref(by === 'tree' ? 'treeId' : 'agentId');
    return sql`
      with recent as (${sums(sql`select ${column} as key, ${OF_RUN} from runs where tallied = 0`)}),
        top as (${total} where ${mine} order by cost_usd desc limit ${limit}),
        beside as (${total} where ${mine} and key in (select key from recent) and key not in (select key from top))
      ${named(sql`select * from recent union all select * from top union all select * from beside`, limit)}`;
  }

  /** Whole days are in the totals; the rest of the first and of the last one is summed from their runs. */
  function within({ by, since, until, limit }: UsageFilter): RawBuilder<Sums & { key: string }> {
    const from = Math.ceil(since / DAY_MS);
    const to = Math.max(from, Math.floor(until / DAY_MS));
    const key =
      by === 'day' ? sql`cast(created_at / ${sql.lit(DAY_MS)} as text)` : sql.ref(by === 'tree' ? 'treeId' : 'agentId');
    const runs = (condition: RawBuilder<unknown>) => sql`select ${key} as key, ${OF_RUN} from runs where ${condition}`;
    const parts = sql`
      select ${by === 'day' ? sql`cast(day as text)` : sql.ref('key')} as key, ${COLUMNS}
        from usage_totals where kind = ${sql.lit(by)} and day >= ${Math.max(0, from)} and day < ${to}
      union all ${runs(sql`tallied = 0 and +created_at >= ${from * DAY_MS} and +created_at < ${to * DAY_MS}`)}
      union all ${runs(sql`created_at >= ${since} and created_at < ${Math.min(until, from * DAY_MS)}`)}
      union all ${runs(sql`created_at >= ${to * DAY_MS} and created_at < ${until}`)}`;
    if (by !== 'day') return named(parts, limit);
    return sql`${sums(parts)} order by cast(key as ${sql.raw(engine === 'sqlite' ? 'integer' : 'bigint')}) desc limit ${limit}`;
  }
}

const COLUMNS = sql.raw('runs, input_tokens, output_tokens, cost_usd, metered, reported, assumed');
const OF_RUN = sql.raw(
  `1 as runs, input_tokens, output_tokens, cost_usd, ${USAGE_GRADES.map((grade) => `case when usage_grade = '${grade}' then 1 else 0 end as ${grade}`)}`,
);

function sums(parts: RawBuilder<unknown>): RawBuilder<Sums & { key: string }> {
  return sql`select key, sum(runs) as runs, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
    sum(cost_usd) as cost_usd, sum(metered) as metered, sum(reported) as reported, sum(assumed) as assumed
    from (${parts}) as parts group by key`;
}

/** By handle instead of id, the costliest first. */
function named(parts: RawBuilder<unknown>, limit: number): RawBuilder<Sums & { key: string }> {
  const best = sql`${sums(parts)} order by cost_usd desc, key limit ${limit}`;
  return sql`select participants.handle as key, ${COLUMNS}
    from (${best}) as best join participants on participants.id = best.key order by cost_usd desc, participants.handle`;
}

/** With -1, what has to be added so that the runs are no longer in them. */
function totalsOf(runs: readonly Tallied[], times: 1 | -1): Total[] {
  const totals = new Map<string, Total>();
  const count = (kind: Kind, key: string, day: number, run: Tallied) => {
    const name = `${kind} ${key} ${day}`;
    const before = totals.get(name) ?? { ...NOTHING, kind, key, day };
    const graded = (grade: UsageGrade) => before[grade] + (run.usageGrade === grade ? times : 0);
    totals.set(name, {
      ...before,
      runs: before.runs + times,
      inputTokens: before.inputTokens + times * run.inputTokens,
      outputTokens: before.outputTokens + times * run.outputTokens,
      costUsd: before.costUsd + times * run.costUsd,
      metered: graded('metered'),
      reported: graded('reported'),
      assumed: graded('assumed'),
    });
  };
  for (const run of runs) {
    const day = dayOf(run.createdAt);
    for (const at of [day, EVER]) {
      count('agent', run.agentId, at, run);
      count('tree', run.treeId, at, run);
    }
    count('day', '', day, run);
  }
  return [...totals.values()];
}

const NOTHING: Sums = { runs: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, metered: 0, reported: 0, assumed: 0 };

/** As certain as the least certain of the runs. */
function worst(row: Record<UsageGrade, number>): UsageGrade | null {
  return USAGE_GRADES.findLast((grade) => Number(row[grade]) > 0) ?? null;
}

function added(a: Usage, b: Usage): Usage {
  return {
    runs: a.runs + b.runs,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd + b.costUsd,
  };
}

/** PostgreSQL's sums are texts. */
function toUsage(row: Usage | null): Usage {
  return {
    runs: Number(row?.runs ?? 0),
    inputTokens: Number(row?.inputTokens ?? 0),
    outputTokens: Number(row?.outputTokens ?? 0),
    costUsd: Number(row?.costUsd ?? 0),
  };
}
