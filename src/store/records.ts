import { sql } from 'kysely';
import type { RunMessageType } from '../core/run.ts';
import type { Queries } from './query.ts';
import type { RunMessageRow } from './schema.ts';

export type NewRecord = Omit<RunMessageRow, 'n'>;

/** The record of what a run did. */
export function recordQueries({ db, all, one, run }: Queries) {
  return {
    insertRecord: run((p: NewRecord) =>
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
      })),
    ),
    listRecords: all((p: { runId: string }) =>
      db.selectFrom('run_messages').selectAll().where('runId', '=', p.runId).orderBy('n'),
    ),
    listRecordsAfter: all((p: { runId: string; after: number; limit: number }) =>
      db
        .selectFrom('run_messages')
        .selectAll()
        .where('runId', '=', p.runId)
        .where('n', '>', p.after)
        .orderBy('n')
        .limit(p.limit),
    ),
    /** The call that a return belongs to. */
    getCall: one((p: { runId: string; callId: string }) =>
      db
        .selectFrom('run_messages')
        .selectAll()
        .where('runId', '=', p.runId)
        .where('callId', '=', p.callId)
        .where('type', '=', 'tool_call_message'),
    ),
    /** The effects of a run, in order: the k-th identical call of a later attempt gets the k-th of these. */
    listEffects: all((p: { runId: string; callKey: string }) =>
      db
        .selectFrom('run_messages')
        .select('content')
        .where('runId', '=', p.runId)
        .where('callKey', '=', p.callKey)
        .where('effect', '=', 1)
        .orderBy('n'),
    ),
    /** How often an attempt has made identical calls so far, repeated ones included; a call that failed outright does not count. */
    countCalls: one((p: { runId: string; callKey: string; attempt: number }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.count<number>('callId').distinct().as('n'))
        .where('runId', '=', p.runId)
        .where('callKey', '=', p.callKey)
        .where('attempt', '=', p.attempt),
    ),
    /** How many an attempt has made. */
    countRecords: one((p: { runId: string; attempt: number }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('runId', '=', p.runId)
        .where('attempt', '=', p.attempt),
    ),
    getLastRecord: one((p: { runId: string }) =>
      db.selectFrom('run_messages').selectAll().where('runId', '=', p.runId).orderBy('n', 'desc').limit(1),
    ),
    /** The calls of earlier attempts that were written down before they began, in order, and what came of each: null where nothing did. */
    listStarts: all((p: { runId: string; callKey: string; attempt: number }) =>
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
    listRecentRecords: all((p: { agentId: string; limit: number }) =>
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
  };
}
