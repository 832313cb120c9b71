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
        run_id: p.run_id,
        n: eb
          .selectFrom('run_messages')
          .select((q) => q(q.fn.coalesce(q.fn.max('n'), q.lit(0)), '+', q.lit(1)).as('n'))
          .where('run_id', '=', p.run_id),
        step: p.step,
        attempt: p.attempt,
        type: p.type,
        tool: p.tool,
        call_id: p.call_id,
        call_key: p.call_key,
        content: p.content,
        is_error: p.is_error,
        effect: p.effect,
        created_at: p.created_at,
      })),
    ),
    listRecords: all((p: { runId: string }) =>
      db.selectFrom('run_messages').selectAll().where('run_id', '=', p.runId).orderBy('n'),
    ),
    listRecordsAfter: all((p: { runId: string; after: number; limit: number }) =>
      db
        .selectFrom('run_messages')
        .selectAll()
        .where('run_id', '=', p.runId)
        .where('n', '>', p.after)
        .orderBy('n')
        .limit(p.limit),
    ),
    /** The call that a return belongs to. */
    getCall: one((p: { runId: string; callId: string }) =>
      db
        .selectFrom('run_messages')
        .selectAll()
        .where('run_id', '=', p.runId)
        .where('call_id', '=', p.callId)
        .where('type', '=', 'tool_call_message'),
    ),
    /** The effects of a run, in order: the k-th identical call of a later attempt gets the k-th of these. */
    listEffects: all((p: { runId: string; callKey: string }) =>
      db
        .selectFrom('run_messages')
        .select('content')
        .where('run_id', '=', p.runId)
        .where('call_key', '=', p.callKey)
        .where('effect', '=', 1)
        .orderBy('n'),
    ),
    /** How often an attempt has made identical calls so far, repeated ones included; a call that failed outright does not count. */
    countCalls: one((p: { runId: string; callKey: string; attempt: number }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.count<number>('call_id').distinct().as('n'))
        .where('run_id', '=', p.runId)
        .where('call_key', '=', p.callKey)
        .where('attempt', '=', p.attempt),
    ),
    /** How many an attempt has made. */
    countRecords: one((p: { runId: string; attempt: number }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('run_id', '=', p.runId)
        .where('attempt', '=', p.attempt),
    ),
    getLastRecord: one((p: { runId: string }) =>
      db.selectFrom('run_messages').selectAll().where('run_id', '=', p.runId).orderBy('n', 'desc').limit(1),
    ),
    /** The calls of earlier attempts that were written down before they began, in order, and what came of each: null where nothing did. */
    listStarts: all((p: { runId: string; callKey: string; attempt: number }) =>
      db
        .selectFrom('run_messages as start')
        .leftJoin('run_messages as finish', (join) =>
          join
            .onRef('finish.run_id', '=', 'start.run_id')
            .onRef('finish.call_id', '=', 'start.call_id')
            .on('finish.type', '=', sql.lit<RunMessageType>('tool_return_message')),
        )
        .select(['finish.content', 'finish.is_error'])
        .where('start.run_id', '=', p.runId)
        .where('start.call_key', '=', p.callKey)
        .where('start.attempt', '<', p.attempt)
        .where('start.type', '=', sql.lit<RunMessageType>('tool_call_message'))
        .orderBy('start.n'),
    ),
    listRecentRecords: all((p: { agentId: string; limit: number }) =>
      db
        .selectFrom('run_messages')
        .innerJoin('runs', 'runs.id', 'run_messages.run_id')
        .selectAll('run_messages')
        .where('runs.agent_id', '=', p.agentId)
        .orderBy('runs.seq', 'desc')
        .orderBy('runs.id', 'desc')
        .orderBy('run_messages.n', 'desc')
        .limit(p.limit),
    ),
  };
}
