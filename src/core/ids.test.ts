import { expectTypeOf, test } from 'vitest';
import type { Events, Runs } from '../store/tx.ts';
import type { NewEvent } from './event.ts';
import type { AgentId, MessageId, ParticipantId, RunId } from './ids.ts';

test('an id of one kind is not assignable to another', () => {
  expectTypeOf<AgentId>().not.toExtend<RunId>();
  expectTypeOf<AgentId>().toExtend<ParticipantId>();
  expectTypeOf<ParticipantId>().not.toExtend<AgentId>();
  expectTypeOf<string>().toExtend<MessageId>();
  expectTypeOf<{ id: AgentId }>().not.toExtend<Parameters<Runs['getRun']>[0]>();
});

test('an event is stored with the data of its type', () => {
  type Append = Parameters<Events['appendEvent']>[0];
  expectTypeOf<{ type: 'agent_resumed'; at: number; data: { agentId: string } }>().toExtend<Append>();
  expectTypeOf<{ type: 'agent_resumd'; at: number; data: { agentId: string } }>().not.toExtend<NewEvent>();
  expectTypeOf<{ type: 'agent_paused'; at: number; data: { agentId: string } }>().not.toExtend<NewEvent>();
  // An event of a channel names it.
  type Done = { type: 'agent_done'; at: number; data: { agentId: string; runId: string; channelId: string } };
  expectTypeOf<Done>().not.toExtend<NewEvent>();
});
