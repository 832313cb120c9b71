import { sql } from 'kysely';
import type { NewRunRecord, RunMessageType, RunRecord } from '../core/run.ts';
import type { Queries } from './query.ts';
import type { Records } from './tx.ts';

type Stored<R extends { readonly content: unknown }> = Omit<R, 'content'> & { readonly content: string };

const UNCOUNTED = { sections: null, inputTokens: null, outputTokens: null, costUsd: null } as const;

/** The record of what a run did. */
export function recordQueries({ db, all, one, count, put }: Queries): Records {
  const insert = put((p: Stored<Omit<RunRecord, 'n'>>) =>
    db.insertInto('run_messages').values((eb) => ({
      runId: p.runId,
      n: eb
        .selectFrom('run_messages')
        .select((q) => q(q.fn.coalesce(q.fn.max('n'), q.lit(0)), '+', q.lit(1)).as('n'))
        .where('runId', '=', p.runId),
      step: p.step,
      attempt: p.attempt,
      type: p.type,
      tool: p.tool,
      callId: p.callId,
      callKey: p.callKey,
      content: p.content,
      isError: p.isError,
      effect: p.effect,
      createdAt: p.createdAt,
      sections: p.sections,
      inputTokens: p.inputTokens,
      outputTokens: p.outputTokens,
      costUsd: p.costUsd,
    })),
  );
  return {
    insertRecord: async (record: NewRunRecord): Promise<void> => {
      await insert({ ...UNCOUNTED, ...record, content: JSON.stringify(record.content) });
    },
    listRecords: parsed(
      all((p: { runId: string }) =>
        db.selectFrom('run_messages').selectAll().where('runId', '=', p.runId).orderBy('n'),
      ),
    ),
    listRecordsAfter: parsed(
      all((p: { runId: string; after: number; limit: number }) =>
        db
          .selectFrom('run_messages')
          .selectAll()
          .where('runId', '=', p.runId)
          .where('n', '>', p.after)
          .orderBy('n')
          .limit(p.limit),
      ),
    ),
    /** The call that a return belongs to. */
    getCall: parsedOne(
      one((p: { runId: string; callId: string }) =>
        db
          .selectFrom('run_messages')
          .selectAll()
          .where('runId', '=', p.runId)
          .where('callId', '=', p.callId)
          .where('type', '=', 'tool_call_message'),
      ),
    ),
    /** The effects of a run, in order: the k-th identical call of a later attempt gets the k-th of these. */
    listEffects: parsed(
      all((p: { runId: string; callKey: string }) =>
        db
          .selectFrom('run_messages')
          .select('content')
          .where('runId', '=', p.runId)
          .where('callKey', '=', p.callKey)
          .where('effect', '=', true)
          .orderBy('n'),
      ),
    ),
    /**
     * The number of identical calls of an attempt so far, including repeated ones; a call that failed outright does
     * not count.
     */
    countCalls: count((p: { runId: string; callKey: string; attempt: number }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.count<number>('callId').distinct().as('n'))
        .where('runId', '=', p.runId)
        .where('callKey', '=', p.callKey)
        .where('attempt', '=', p.attempt),
    ),
    /** The number of records of an attempt. */
    countRecords: count((p: { runId: string; attempt: number }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('runId', '=', p.runId)
        .where('attempt', '=', p.attempt),
    ),
    getLastRecord: parsedOne(
      one((p: { runId: string }) =>
        db.selectFrom('run_messages').selectAll().where('runId', '=', p.runId).orderBy('n', 'desc').limit(1),
      ),
    ),
    /** The calls of earlier attempts whose start was recorded, in order, with their results; null if there is none. */
    listStarts: parsed(
      all((p: { runId: string; callKey: string; attempt: number }) =>
        db
          .selectFrom('run_messages as start')
          .leftJoin('run_messages as finish', (join) =>
            join
              .onRef('finish.runId', '=', 'start.runId')
              .onRef('finish.callId', '=', 'start.callId')
              .on('finish.type', '=', sql.lit<RunMessageType>('tool_return_message')),
          )
          .select(['finish.content', 'finish.isError'])
          .where('start.runId', '=', p.runId)
          .where('start.callKey', '=', p.callKey)
          .where('start.attempt', '<', p.attempt)
          .where('start.type', '=', sql.lit<RunMessageType>('tool_call_message'))
          .orderBy('start.n'),
      ),
    ),
    listRecentRecords: parsed(
      all((p: { agentId: string; limit: number }) =>
        db
          .selectFrom('run_messages')
          .innerJoin('runs', 'runs.id', 'run_messages.runId')
          .selectAll('run_messages')
          .where('runs.agentId', '=', p.agentId)
          .orderBy('runs.seq', 'desc')
          .orderBy('runs.id', 'desc')
          .orderBy('run_messages.n', 'desc')
          .limit(p.limit),
      ),
    ),
    /** Successful calls of a tool. */
    countReturns: count((p: { runId: string; tool: string }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('runId', '=', p.runId)
        .where('tool', '=', p.tool)
        .where('type', '=', 'tool_return_message')
        .where('isError', '=', false),
    ),
  };
}

type Parsed<R> = Omit<R, 'content'> & { readonly content: unknown };

function parse<R extends { readonly content: string | null }>(row: R): Parsed<R> {
  return { ...row, content: row.content === null ? null : (JSON.parse(row.content) as unknown) };
}

function parsed<P, R extends { readonly content: string | null }>(query: (params: P) => Promise<R[]>) {
  return async (params: P): Promise<Parsed<R>[]> => (await query(params)).map(parse);
}

function parsedOne<P, R extends { readonly content: string | null }>(query: (params: P) => Promise<R | null>) {
  return async (params: P): Promise<Parsed<R> | null> => {
    const row = await query(params);
    return row && parse(row);
  };
}
