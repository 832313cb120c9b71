import { z } from '@hono/zod-openapi';
import { AgentStatus, Message, time } from './schemas.ts';

/** he data of each event type. `agent`, `participant` and `by` are handles, next to the ids. */

const id = z.string();
const ofAgent = { agentId: id, agent: z.string() };
/** Left out by versions before 0.2. */
const withStatus = { status: AgentStatus.nullable().optional() };
const ofRun = { ...ofAgent, runId: id };
const inChannel = { channelId: id };
const ofMember = { ...inChannel, participantId: id, participant: z.string(), by: z.string() };
const ofReaction = { ...inChannel, messageId: id, by: z.string(), emoji: z.string() };
const ofBlock = {
  agentId: id.optional(),
  agent: z.string().optional(),
  owner: z.string(),
  label: z.string(),
  version: z.int(),
  recipients: z.array(id),
};
const ofPassage = { ...ofAgent, passageId: id };

const DATA = {
  message_created: { message: Message, to: z.array(z.string()) },
  message_updated: { message: Message, to: z.array(z.string()) },
  message_deleted: { ...inChannel, messageId: id, authorId: id },
  reaction_added: ofReaction,
  reaction_removed: ofReaction,
  channel_created: { ...inChannel, by: z.string() },
  channel_updated: { ...inChannel, topic: z.string(), by: z.string() },
  member_joined: ofMember,
  member_left: ofMember,
  member_updated: { ...ofMember, wake: z.enum(['all', 'mentions', 'none']) },
  agent_created: { ...ofAgent, name: z.string(), handle: z.string(), parentId: id.nullable() },
  agent_terminated: { ...ofAgent, reason: z.string() },
  agent_paused: { ...ofAgent, ...withStatus, reason: z.string() },
  agent_resumed: { ...ofAgent, ...withStatus },
  agent_typing: { ...ofRun, ...inChannel },
  agent_done: { ...ofRun, ...inChannel },
  run_started: { ...ofRun, attempt: z.int() },
  run_retried: { ...ofRun, ...withStatus, kind: z.string(), error: z.string(), notBefore: z.int() },
  run_ended: { ...ofRun, state: z.enum(['completed', 'failed', 'cancelled']), error: z.string().nullable() },
  delivery_updated: {
    ...ofRun,
    state: z.enum(['injected', 'acknowledged', 'dead']),
    messageIds: z.array(id).optional().openapi({ description: 'What the run carries; told when it begins.' }),
  },
  memory_updated: { ...ofBlock, changedBy: z.string() },
  memory_deleted: { ...ofBlock, changedBy: z.string() },
  memory_shared: ofBlock,
  passage_stored: ofPassage,
  passage_deleted: ofPassage,
} as const;

export const EVENTS: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(DATA).map(([type, data]) => [
    type,
    z.strictObject({ seq: z.int(), type: z.literal(type), at: time, data: z.strictObject(data) }),
  ]),
);

/** `message_created` is `MessageCreatedEvent` in the document. */
export function eventName(type: string): string {
  return `${type.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;
}
