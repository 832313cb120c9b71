import * as z from 'zod';
import { EVIDENCE_KINDS, EVIDENCE_STATES } from './evidence.ts';
import type { AgentId, ChannelId } from './ids.ts';
import { PROGRESS } from './progress.ts';
import { OUTCOMES, QUESTION_KINDS } from './question.ts';
import { STATUS_KINDS } from './status.ts';

/** The only place that an event is defined: its emitter, the stream, OpenAPI, the client and docs/api.md follow from here. */
interface Definition {
  /** When it happens, in a sentence. */
  readonly about: string;
  /** What is stored. */
  readonly stored: z.ZodRawShape;
  /**
   * What readers see. `named`: the stored data, with the handles of its agent, its participant and its author.
   * `message`: the current message, and the handles of its recipients.
   */
  readonly shown: 'named' | 'message';
  /** Who may see it, apart from the owner: those who see its channel, or nobody. */
  readonly seenIn: 'channel' | null;
}

const id = z.string();
const text = z.string();
const ofAgent = { agentId: id };
const ofRun = { agentId: id, runId: id };
const ofMessage = { messageId: id, channelId: id, authorId: id };
const ofMember = { channelId: id, participantId: id, by: id };
const ofReaction = { channelId: id, messageId: id, by: id, emoji: text };
const ofPassage = { agentId: id, passageId: id };
/** What holds the agent back from now on (core/status.ts). Events of versions before 0.2 have none. */
const status = z
  .strictObject({
    kind: z.enum(STATUS_KINDS),
    reason: text.nullable(),
    since: text.nullable(),
    until: text.nullable(),
  })
  .nullable()
  .optional();
const ofNode = { nodeId: id, node: text.describe('Its name.') };
const ofBlock = { agentId: id.optional(), owner: text, label: text, version: z.int(), recipients: z.array(id) };

export const EVENTS = {
  message_created: {
    about: 'A message was posted.',
    stored: { messageId: id, authorId: id, recipients: z.array(id), kind: text, inReplyTo: id.nullable() },
    shown: 'message',
    seenIn: 'channel',
  },
  message_updated: { about: 'Its author edited a message.', stored: ofMessage, shown: 'message', seenIn: 'channel' },
  message_deleted: { about: 'A message was deleted.', stored: ofMessage, shown: 'named', seenIn: 'channel' },
  reaction_added: { about: 'Somebody reacted to a message.', stored: ofReaction, shown: 'named', seenIn: 'channel' },
  reaction_removed: { about: 'A reaction was removed.', stored: ofReaction, shown: 'named', seenIn: 'channel' },
  channel_created: {
    about: 'A channel was created.',
    stored: { channelId: id, by: id },
    shown: 'named',
    seenIn: 'channel',
  },
  channel_updated: {
    about: 'The topic of a channel changed.',
    stored: { channelId: id, topic: text, by: id },
    shown: 'named',
    seenIn: 'channel',
  },
  channel_deleted: {
    about: 'A channel was deleted, with its messages.',
    stored: { channelId: id, by: id, messages: z.int() },
    shown: 'named',
    seenIn: null,
  },
  member_joined: { about: 'Somebody joined a channel.', stored: ofMember, shown: 'named', seenIn: 'channel' },
  member_left: {
    about: 'Somebody left a channel or was removed.',
    stored: ofMember,
    shown: 'named',
    seenIn: 'channel',
  },
  member_updated: {
    about: 'What wakes an agent in a channel changed.',
    stored: { ...ofMember, wake: z.enum(['all', 'mentions', 'none']) },
    shown: 'named',
    seenIn: 'channel',
  },
  agent_created: {
    about: 'An agent was created.',
    stored: { ...ofAgent, name: text, handle: text, parentId: id.nullable() },
    shown: 'named',
    seenIn: null,
  },
  agent_terminated: {
    about: 'An agent was terminated.',
    stored: { ...ofAgent, reason: text },
    shown: 'named',
    seenIn: null,
  },
  agent_deleted: {
    about: 'A terminated agent was deleted, with its messages and memory.',
    stored: { ...ofAgent, handle: text },
    shown: 'named',
    seenIn: null,
  },
  agent_paused: {
    about: 'An agent was paused: it takes no turn until it is resumed.',
    stored: { ...ofAgent, reason: text, status },
    shown: 'named',
    seenIn: null,
  },
  agent_resumed: { about: 'A paused agent was resumed.', stored: { ...ofAgent, status }, shown: 'named', seenIn: null },
  agent_updated: {
    about: 'Settings of an agent changed. They apply from its next turn.',
    stored: { ...ofAgent, revision: z.int(), changed: z.array(text).describe('The settings that changed.'), by: id },
    shown: 'named',
    seenIn: null,
  },
  agent_gated: {
    about: 'An agent was gated: no turn of it begins until its gate is opened.',
    stored: { ...ofAgent, by: id },
    shown: 'named',
    seenIn: null,
  },
  agent_ungated: {
    about: 'The gate of an agent was opened.',
    stored: { ...ofAgent, by: id },
    shown: 'named',
    seenIn: null,
  },
  agent_noted: {
    about: 'The parent of an agent changed its metadata.',
    stored: { ...ofAgent, key: text, by: id },
    shown: 'named',
    seenIn: null,
  },
  agent_moved: {
    about: 'An agent belongs to another node now.',
    stored: { ...ofAgent, from: id, to: id },
    shown: 'named',
    seenIn: null,
  },
  reminder_set: {
    about: 'An agent asked to be reminded of something.',
    stored: { ...ofAgent, reminderId: id, due: text },
    shown: 'named',
    seenIn: null,
  },
  question_asked: {
    about: 'An agent asked a person, or needs an approval.',
    stored: { ...ofAgent, questionId: id, kind: z.enum(QUESTION_KINDS) },
    shown: 'named',
    seenIn: null,
  },
  question_settled: {
    about: 'A question or an approval has its outcome.',
    stored: { ...ofAgent, questionId: id, outcome: z.enum(OUTCOMES), by: id },
    shown: 'named',
    seenIn: null,
  },
  evidence_checked: {
    about: 'What a message claims was checked.',
    stored: {
      ...ofAgent,
      runId: id.nullable(),
      messageId: id,
      kind: z.enum(EVIDENCE_KINDS),
      subject: text,
      state: z.enum(EVIDENCE_STATES),
      detail: text,
    },
    shown: 'named',
    seenIn: 'channel',
  },
  agent_typing: {
    about: 'A turn for something said in the channel began.',
    stored: { ...ofRun, channelId: id },
    shown: 'named',
    seenIn: 'channel',
  },
  agent_done: {
    about: 'A turn for something said in the channel ended.',
    stored: { ...ofRun, channelId: id },
    shown: 'named',
    seenIn: 'channel',
  },
  run_started: {
    about: 'An attempt of a run began.',
    stored: { ...ofRun, attempt: z.int() },
    shown: 'named',
    seenIn: null,
  },
  run_progress: {
    about: 'A running attempt became quiet, stalled or looping, or works again.',
    stored: { ...ofRun, progress: z.enum(PROGRESS), reason: text.nullable().describe('The evidence.') },
    shown: 'named',
    seenIn: null,
  },
  run_retried: {
    about: 'An attempt failed; the run is tried again.',
    stored: { ...ofRun, kind: text, error: text, notBefore: z.int(), status },
    shown: 'named',
    seenIn: null,
  },
  run_poked: {
    about: 'The parent of an agent has its failed run tried again.',
    stored: { ...ofRun, by: id, pokes: z.int() },
    shown: 'named',
    seenIn: null,
  },
  run_ended: {
    about: 'A run ended for good.',
    stored: { ...ofRun, state: z.enum(['completed', 'failed', 'cancelled']), error: text.nullable() },
    shown: 'named',
    seenIn: null,
  },
  delivery_updated: {
    about: 'The messages of a run were injected when it began, and acknowledged or dead when it ended.',
    stored: {
      ...ofRun,
      state: z.enum(['injected', 'acknowledged', 'dead']),
      messageIds: z.array(id).optional().describe('What the run carries; present when it begins.'),
    },
    shown: 'named',
    seenIn: null,
  },
  memory_updated: {
    about: 'A block has a new text, which the event does not carry.',
    stored: { ...ofBlock, changedBy: text },
    shown: 'named',
    seenIn: null,
  },
  memory_deleted: {
    about: 'A block was deleted.',
    stored: { ...ofBlock, changedBy: text },
    shown: 'named',
    seenIn: null,
  },
  memory_shared: { about: 'The readers of a block changed.', stored: ofBlock, shown: 'named', seenIn: null },
  passage_stored: { about: 'An agent stored a passage.', stored: ofPassage, shown: 'named', seenIn: null },
  passage_deleted: { about: 'A passage was deleted.', stored: ofPassage, shown: 'named', seenIn: null },
  node_started: {
    about: 'A daemon started.',
    stored: { ...ofNode, version: text },
    shown: 'named',
    seenIn: null,
  },
  node_stopped: { about: 'A daemon was stopped.', stored: ofNode, shown: 'named', seenIn: null },
  node_lost: {
    about: 'The heartbeat of a node is missing: its agents are stranded.',
    stored: { ...ofNode, agents: z.int() },
    shown: 'named',
    seenIn: null,
  },
  node_returned: { about: 'A lost node sends heartbeats again.', stored: ofNode, shown: 'named', seenIn: null },
  node_draining: {
    about: 'A node finishes its runs and starts nothing new.',
    stored: ofNode,
    shown: 'named',
    seenIn: null,
  },
  node_undrained: { about: 'A drained node starts runs again.', stored: ofNode, shown: 'named', seenIn: null },
  node_removed: { about: 'A node was removed.', stored: ofNode, shown: 'named', seenIn: null },
} as const satisfies Record<string, Definition>;

type Events = typeof EVENTS;
export type EventType = keyof Events;

/** The stored data of an event. */
export type EventData<T extends EventType> = z.infer<z.ZodObject<Events[T]['stored']>>;

/** An event of a channel names it: that decides who sees the event. */
type Scene<T extends EventType> = Events[T]['seenIn'] extends 'channel'
  ? { readonly channelId: ChannelId; readonly agentId?: AgentId | null }
  : { readonly agentId?: AgentId | null };

export type NewEvent = {
  [T in EventType]: { readonly type: T; readonly at: number; readonly data: EventData<T> } & Scene<T>;
}[EventType];

export type StoredEvent = {
  [T in EventType]: {
    readonly seq: number;
    readonly type: T;
    readonly at: number;
    readonly agentId: AgentId | null;
    readonly channelId: ChannelId | null;
    readonly data: EventData<T>;
  };
}[EventType];

/** The data of an event as readers see it, given how a message is shown. */
export type ShownData<T extends EventType, Message> = Events[T]['shown'] extends 'message'
  ? { readonly message: Message; readonly to: readonly string[] }
  : EventData<T> & Handles<EventData<T>>;

type Handles<Data> = (Data extends { agentId: string }
  ? { readonly agent: string }
  : Data extends { agentId?: string | undefined }
    ? { readonly agent?: string | undefined }
    : unknown) &
  (Data extends { participantId: string } ? { readonly participant: string } : unknown);

/** The subjects of an event of any type. */
export interface EventSubjects {
  readonly agentId?: AgentId | undefined;
  readonly nodeId?: string;
  readonly participantId?: string;
  readonly by?: string;
  readonly messageId?: string;
  readonly authorId?: string;
  readonly recipients?: readonly string[];
}
