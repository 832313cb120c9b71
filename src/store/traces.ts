import type { MessageId, RunId } from '../core/ids.ts';
import type { Message } from '../core/message.ts';
import type { Run } from '../core/run.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';

/** How work went from agent to agent: a run sends messages, and a message starts runs. */
export interface Traces {
  /** The runs that a message started, in order. */
  listStarted(p: { messageId: MessageId; limit: number }): Promise<TracedRun[]>;
  /** The runs that messages of these runs started, in order. */
  listCaused(p: { runIds: readonly RunId[]; limit: number }): Promise<TracedRun[]>;
  /** What a run sent, in order. */
  listSent(p: { runId: RunId; limit: number }): Promise<Message[]>;
}

export interface TracedRun extends Run {
  /** Of its agent. */
  readonly handle: string;
  /** The run that sent the message that started it; null if no run did. */
  readonly parentRunId: RunId | null;
}

export function traceQueries({ engine, db, all }: Queries): Traces {
  const runs = () =>
    db
      .selectFrom('messages')
      .innerJoin('runs', 'runs.triggerId', 'messages.id')
      .innerJoin('agents', 'agents.id', 'runs.agentId')
      .selectAll('runs')
      .select(['agents.handle', 'messages.runId as parentRunId'])
      .orderBy('runs.seq')
      .orderBy('runs.id');
  const caused = all((p: { list: string; limit: number }) =>
    runs()
      .where(isOneOf(engine, 'messages.runId', p.list, 'text'))
      .limit(p.limit),
  );
  return {
    listStarted: all((p: { messageId: string; limit: number }) =>
      runs().where('messages.id', '=', p.messageId).limit(p.limit),
    ),
    listCaused: ({ runIds, limit }) => caused({ list: listOf(engine, runIds), limit }),
    listSent: all((p: { runId: string; limit: number }) =>
      db
        .selectFrom('messages')
        .selectAll()
        .where('runId', '=', p.runId)
        .where('deletedAt', 'is', null)
        .orderBy('seq')
        .limit(p.limit),
    ),
  };
}
