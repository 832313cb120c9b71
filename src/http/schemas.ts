import { isAbsolute } from 'node:path';
import { z } from '@hono/zod-openapi';
import { EMOJI, EMOJI_RULE } from '../core/emoji.ts';
import { NODE_STATES } from '../core/node.ts';
import { PORTABILITIES } from '../core/portable.ts';
import { PROGRESS } from '../core/progress.ts';
import { STATUS_KINDS } from '../core/status.ts';
import { USAGE_GRADES } from '../core/usage.ts';
import { Attachment, AttachmentCreations } from './attachments.ts';
import { Evidence } from './evidence.ts';
import { label, line, NAMED, NO_NUL, path, plain, text, time, uuid } from './fields.ts';

export { Budget, BudgetSetting } from './budget.ts';
export { Evidence } from './evidence.ts';
export { instant, label, line, time } from './fields.ts';
export * from './file-schemas.ts';
export * from './health-schemas.ts';
export * from './memory-schemas.ts';
export * from './provider-schemas.ts';
export { Question, QuestionApproval } from './question.ts';
export * from './report-schemas.ts';
export * from './schedule-schemas.ts';
export * from './trace-schemas.ts';
export * from './workspace-schemas.ts';

/** Requests and responses: one definition for validation, types and the OpenAPI document. */

export const ErrorBody = z
  .strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) })
  .openapi('Error');

const AgentStatus = z
  .strictObject({
    kind: z.enum(STATUS_KINDS).openapi({ description: 'Later versions add kinds.' }),
    reason: z.string().nullable(),
    since: time.nullable().openapi({ description: 'Null if the time was not recorded.' }),
    until: time.nullable().openapi({ description: 'When it ends by itself; null if unknown.' }),
  })
  .openapi('AgentStatus');

export const Agent = z
  .strictObject({
    id: uuid,
    name: z.string(),
    handle: z.string(),
    role: z.string(),
    state: z.enum(['idle', 'busy', 'waiting', 'terminated']),
    parentId: uuid.nullable(),
    provider: z.string(),
    acting: z
      .strictObject({ provider: z.string(), model: z.string().nullable(), account: z.string().nullable() })
      .nullable()
      .openapi({ description: 'The account, or the other provider, that executes its turns at this time.' }),
    model: z.string().nullable(),
    program: z.string().nullable(),
    maySpawn: z
      .array(z.string())
      .nullable()
      .openapi({ description: 'Providers that its children may have; null: its own, and what its ancestors allow.' }),
    fallback: z
      .array(z.string())
      .nullable()
      .openapi({ description: 'Providers that take over while its own has reached a limit.' }),
    workspace: z.string(),
    node: z.string().openapi({ description: 'Name of the node that it belongs to, or its id if it has no name.' }),
    instructions: z.string(),
    tools: z.array(z.string()).nullable(),
    persona: z.string().nullable().openapi({ description: 'The persona it was created from.' }),
    arguments: z.record(z.string(), z.string()).openapi({ description: 'Arguments of its persona.' }),
    revision: z.int().openapi({ description: 'Of its settings; its ETag.' }),
    pending: z.int().openapi({ description: 'Messages that it has not received, counted up to 100.' }),
    metadata: z
      .record(z.string(), z.string())
      .openapi({ description: 'What its parent noted about it (set_agent_metadata).' }),
    status: AgentStatus.nullable().openapi({
      description: 'What holds the agent back; null: it takes a turn now, or has nothing to do.',
    }),
    portability: z.enum(PORTABILITIES).nullable().openapi({
      description:
        'Whether another node takes it over if its own dies. portable: with its session; not_yet: with a new one, because the last turn is not stored; local: not at all. Null if its node shares no directories.',
    }),
    work: z
      .strictObject({
        commit: z.string().nullable().openapi({ description: 'What was pushed last.' }),
        runId: z.string().nullable().openapi({ description: 'The run after which it was pushed.' }),
        saved: z.boolean().openapi({ description: 'The last completed turn is part of it.' }),
        problem: z.string().nullable().openapi({ description: 'Why the last turn was not pushed.' }),
        leftOut: z.array(z.string()).openapi({ description: 'Files that were left out, and why.' }),
      })
      .nullable()
      .openapi({ description: 'Of a git workspace: its work in progress on `[node] wip_remote`.' }),
    paused: z
      .strictObject({ at: time, reason: z.string() })
      .nullable()
      .openapi({ description: 'Since when and why the agent is paused; null if it is not.' }),
    createdAt: time,
  })
  .openapi('Agent');

/** What people other than the owner see of an agent. */
export const AgentProfile = z
  .strictObject({
    name: z.string(),
    handle: z.string(),
    role: z.string(),
    state: Agent.shape.state,
    channels: z.array(z.string()).openapi({ description: 'Ids of the channels you share with the agent.' }),
  })
  .openapi('AgentProfile');

export const AgentCreation = z
  .strictObject({
    name: z.string().max(200).openapi({ example: 'lead' }),
    parent: label
      .nullable()
      .default(null)
      .openapi({ description: 'REF of the parent; omit it to create a root agent.' }),
    role: label.nullable().default(null),
    instructions: text.or(z.literal('')).default(''),
    provider: label.nullable().default(null).openapi({ example: 'external' }),
    model: label.nullable().default(null),
    program: path.nullable().default(null),
    maySpawn: z
      .array(label)
      .max(50)
      .nullable()
      .default(null)
      .openapi({
        description: 'Providers that `spawn_agent` may name in addition to its own: PROVIDER or PROVIDER:MODEL.',
        example: ['codex', 'llm:ollama/qwen3'],
      }),
    fallback: z.array(label).max(10).nullable().default(null).openapi({
      description:
        'Providers that take over, in this order, while its own has reached a limit. Its conversation goes to them.',
    }),
    workspace: path
      .refine((value) => isAbsolute(value) || NAMED.test(value), "must be a workspace's name or an absolute path")
      .nullable()
      .default(null)
      .openapi({ description: "A workspace's name or a directory. Default: a workspace of its own, or the parent's." }),
    clone: z
      .string()
      .min(1)
      .max(4_096)
      .regex(/^[^-\0]/)
      .nullable()
      .default(null)
      .openapi({
        description: 'Address of a git repository. The agent gets a clone of it as a git workspace.',
      }),
    worktree: z.boolean().default(false).openapi({
      description: 'Create a git worktree of the repository in `workspace`, on a branch of its own.',
    }),
    tools: z.array(label).max(200).nullable().default(null),
    persona: label.nullable().default(null).openapi({
      description: "The persona to create the agent from. Without `tools`, the persona's tools are the agent's scope.",
    }),
    arguments: z
      .record(line(64).min(1), z.string().max(10_000).refine(plain, NO_NUL))
      .refine((given) => Object.keys(given).length <= 50, 'must have at most 50 arguments')
      .default({})
      .openapi({ description: 'The arguments of the persona.' }),
    node: label.nullable().default(null).openapi({
      description:
        'Name or id of the node. Default: the node of its workspace or program, else the least loaded one with its provider.',
    }),
    labels: z
      .array(label)
      .max(50)
      .default([])
      .openapi({ description: 'It is created on a node with all of these labels.' }),
  })
  .refine(({ persona, arguments: given }) => persona !== null || Object.keys(given).length === 0, {
    path: ['arguments'],
    error: 'must be used with `persona`',
  })
  .openapi('AgentCreation');

export const MessageCreation = z
  .strictObject({
    text,
    inReplyTo: label.nullish().openapi({
      description:
        "The agent's question that this message answers. If omitted, the message answers the agent's only open question to you, or is a new request if there is not exactly one. null always makes a new request.",
    }),
    attachments: AttachmentCreations.optional(),
  })
  .openapi('MessageCreation');

export const Sent = z
  .strictObject({
    messageId: z.string(),
    answered: z.string().optional().openapi({ description: "The agent's question that the message answered." }),
    recipientState: z.enum(['paused', 'gated']).optional().openapi({
      description: 'The agent takes no turn until a person resumes it, or its parent opens its gate.',
    }),
  })
  .openapi('Sent');

export const Message = z
  .strictObject({
    messageId: uuid,
    channelId: z.string(),
    from: z.string().openapi({ description: 'Handle of the author.' }),
    text: z.string(),
    kind: z.enum(['message', 'reply', 'error', 'notice']),
    inReplyTo: uuid.nullable(),
    late: z.boolean(),
    request: z.enum(['open', 'closed']).nullable().openapi({ description: 'For a request, whether it is still open.' }),
    parentMessageId: uuid.nullable().openapi({ description: 'The first message of the thread.' }),
    reactions: z.array(z.strictObject({ emoji: z.string(), users: z.array(z.string()) })),
    attachments: z.array(Attachment),
    evidence: z.array(Evidence),
    createdAt: time,
    editedAt: time.nullable(),
    deletedAt: time
      .nullable()
      .openapi({ description: 'When its author deleted it; a deleted message has an empty text.' }),
  })
  .openapi('Message');

const usageGrade = z.enum(USAGE_GRADES).nullable().openapi({
  description:
    'Who counted: Substrat itself (`metered`), the program (`reported`), or nobody, so that it is estimated (`assumed`). Of several, the least certain; null if nothing was used.',
});

export const Run = z
  .strictObject({
    id: uuid,
    agentId: uuid,
    agent: z.string().openapi({ description: 'Handle of the agent.' }),
    state: z.enum(['created', 'running', 'completed', 'failed', 'cancelled']),
    attempt: z.int(),
    progress: z
      .strictObject({ state: z.enum(PROGRESS), since: time.nullable(), reason: z.string().nullable() })
      .nullable()
      .openapi({ description: 'Whether the attempt in progress makes progress, with the evidence; else null.' }),
    serves: uuid.nullable(),
    triggerId: uuid.nullable(),
    chainDepth: z.int(),
    stopReason: z.string().nullable(),
    error: z.string().nullable(),
    finalText: z.string().nullable(),
    usage: z.strictObject({ inputTokens: z.int(), outputTokens: z.int(), costUsd: z.number(), grade: usageGrade }),
    createdAt: time,
    startedAt: time.nullable(),
    endedAt: time.nullable(),
  })
  .openapi('Run');

export const AttemptUsage = z
  .strictObject({
    attempt: z.int(),
    grade: z.enum(USAGE_GRADES),
    inputTokens: z.int(),
    outputTokens: z.int(),
    costUsd: z.number(),
  })
  .openapi('AttemptUsage');

export const FailedAttempt = z
  .strictObject({
    attempt: z.int(),
    kind: z.string().openapi({ description: 'Such as `rate_limit`, `timeout` or `crash`.' }),
    error: z.string(),
    at: time,
    notBefore: time.openapi({ description: 'The next attempt could start from then on.' }),
  })
  .openapi('FailedAttempt');

export const Usage = z
  .strictObject({
    of: z.string().openapi({ description: "Handle of the agent or of the tree's root, or the day in UTC." }),
    runs: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    costUsd: z.number(),
    grade: usageGrade,
  })
  .openapi('Usage');

export const RunStep = z
  .strictObject({
    step: z.int(),
    attempt: z.int(),
    startedAt: time,
    tools: z.array(z.string()).openapi({ description: 'Tool calls of the step, in order.' }),
    usage: z
      .strictObject({ inputTokens: z.int(), outputTokens: z.int(), costUsd: z.number() })
      .nullable()
      .openapi({ description: 'Null if what the attempt used was only counted at its end.' }),
  })
  .openapi('RunStep');

export const RunMessage = z
  .strictObject({
    n: z.int(),
    step: z.int(),
    attempt: z.int(),
    type: z.enum(['system_message', 'user_message', 'assistant_message', 'tool_call_message', 'tool_return_message']),
    tool: z.string().nullable(),
    callId: z.string().nullable(),
    content: z.unknown(),
    isError: z.boolean(),
    sections: z
      .array(z.strictObject({ name: z.string(), length: z.int() }))
      .nullable()
      .openapi({ description: 'Of a prompt: its sections in order, separated by empty lines, with their lengths.' }),
    createdAt: time,
  })
  .openapi('RunMessage');

export const CarriedMessage = z
  .strictObject({
    messageId: uuid,
    channelId: z.string(),
    from: z.string().openapi({ description: 'Handle of the author.' }),
    text: z.string().openapi({ description: 'Its first 2,000 characters.' }),
    state: z.enum(['pending', 'injected', 'acknowledged', 'dead']),
    request: z.enum(['open', 'closed']).nullable().openapi({ description: 'For a request, whether it is still open.' }),
  })
  .openapi('CarriedMessage');

export const Channel = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['public', 'private', 'dm']),
    topic: z.string(),
    member: z.boolean().openapi({ description: 'Whether you are a member.' }),
    unread: z.int().openapi({
      description: "Number of others' messages you have not read, counted up to 100; 0 if you are not a member.",
    }),
    createdAt: time,
  })
  .openapi('Channel');

const slug = z.string().min(1).max(64);
const topic = line(1000);
const wake = z.enum(['all', 'mentions', 'none']).openapi({
  description: "What wakes the agent: every person's post, only mentions, or nothing.",
});

export const ChannelCreation = z
  .strictObject({
    id: slug.openapi({ example: 'general' }),
    kind: z.enum(['public', 'private']).default('public'),
    topic: topic.default(''),
    members: z.array(label).max(1000).default([]).openapi({ description: 'REFs of agents, handles of people.' }),
  })
  .openapi('ChannelCreation');

export const ChannelTopic = z.strictObject({ topic }).openapi('ChannelTopic');

export const ChannelPost = z
  .strictObject({
    text,
    parentMessageId: label.optional().openapi({ description: 'Post in the thread of this message.' }),
    attachments: AttachmentCreations.optional(),
  })
  .openapi('ChannelPost');

export const MessageEdit = z.strictObject({ text }).openapi('MessageEdit');

export const Reaction = z.strictObject({ emoji: z.string().regex(EMOJI, EMOJI_RULE) }).openapi('Reaction');

export const Member = z
  .strictObject({ id: z.string(), kind: z.enum(['agent', 'person']), handle: z.string(), wake: wake.nullable() })
  .openapi('Member');

export const Membership = z.strictObject({ participant: label, wake: wake.default('all') }).openapi('Membership');

export const MembershipWake = z.strictObject({ wake }).openapi('MembershipWake');

export const Participant = z
  .strictObject({ id: z.string(), kind: z.enum(['agent', 'person']), handle: z.string() })
  .openapi('Participant');

export const Event = z
  .strictObject({ seq: z.int(), type: z.string(), at: time, data: z.record(z.string(), z.unknown()) })
  .openapi('Event');

export const Token = z
  .strictObject({
    id: uuid,
    as: z.string().openapi({ description: 'Handle of the participant who owns it.' }),
    label: z.string(),
    kind: z.enum(['api', 'page', 'phone']).openapi({
      description:
        'A `page` token belongs to a browser, a `phone` token to one that was paired; they cannot make tokens.',
    }),
    createdAt: time,
    expiresAt: time.nullable().openapi({ description: 'Null: it does not expire.' }),
    revokedAt: time.nullable(),
  })
  .openapi('Token');

export const NewLink = z
  .strictObject({
    code: z.string(),
    as: z.string(),
    url: z.string().nullable().openapi({ description: 'Null if the daemon does not serve TCP.' }),
    expiresAt: time,
  })
  .openapi('NewLink');

export const PageToken = z
  .strictObject({ token: z.string(), id: uuid, as: z.string(), owner: z.boolean(), expiresAt: time })
  .openapi('PageToken');

export const Caller = z
  .strictObject({
    id: z.string(),
    handle: z.string(),
    owner: z.boolean(),
    version: z.string().openapi({ description: 'Version of the daemon.' }),
    token: z
      .strictObject({ id: uuid, kind: Token.shape.kind, expiresAt: time.nullable() })
      .nullable()
      .openapi({ description: 'Null for the socket and for the token of the home.' }),
  })
  .openapi('Caller');

export const Health = z
  .strictObject({
    status: z.literal('ok'),
    name: z.enum(['daemon', 'ctx']).openapi({ description: 'Name of the program.' }),
    version: z.string().openapi({ description: 'Version of the program.' }),
  })
  .openapi('Health');

export const Status = z
  .strictObject({
    pid: z.int(),
    home: z.string(),
    config: z.string().nullable().openapi({ description: 'The configuration file; null if only defaults are used.' }),
    store: z.string().openapi({ description: 'The file of the store, or the URL of the database without secrets.' }),
    version: z.string(),
    url: z.string().nullable(),
    sandbox: z.enum(['bwrap', 'none']),
    sandboxProblem: z.string().nullable().openapi({ description: 'Why no agent can start, and what to do.' }),
    limits: z.string().openapi({ description: 'What one turn may use of the machine; "none" without a sandbox.' }),
    commits: z.int().openapi({ description: 'Number of store commits since the start.' }),
    notices: z.array(z.string()).openapi({ description: 'What the owner should know or do.' }),
  })
  .openapi('Status');

export const Node = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable().openapi({ description: 'Null if the node never registered.' }),
    self: z.boolean().openapi({ description: 'Whether it is the daemon that answers.' }),
    state: z.enum(NODE_STATES),
    host: z.string().nullable(),
    home: z.string().nullable(),
    version: z.string().nullable(),
    labels: z.array(z.string()),
    shared: z.array(z.string()).openapi({ description: 'Directories that other nodes reach at the same path.' }),
    providers: z.array(z.string()).openapi({ description: 'Providers whose program is installed there.' }),
    slots: z.int(),
    agents: z.int().openapi({ description: 'Agents that are not terminated.' }),
    running: z.int().openapi({ description: 'Runs that are running.' }),
    queued: z.int().openapi({ description: 'Runs that wait.' }),
    startedAt: time.nullable(),
    seenAt: time.nullable().openapi({ description: "Its last heartbeat, by the database's clock." }),
    drainingAt: time.nullable(),
  })
  .openapi('Node');

export const Prompt = z
  .strictObject({
    agentId: uuid,
    sections: z.array(
      z.strictObject({
        name: z.enum(['identity', 'persona', 'instructions', 'metadata', 'memory', 'channels', 'guidance', 'messages']),
        text: z.string(),
        tokens: z.int(),
      }),
    ),
    tokens: z.int(),
    estimate: z.literal('UTF-8 bytes / 4').openapi({
      description: 'How tokens were estimated. Actual counts depend on the model.',
    }),
  })
  .openapi('Prompt');

/** `?cursor=…&limit=…`, plus further query parameters of a list. */
export function pageQuery<S extends z.ZodRawShape>(more: S) {
  return z.strictObject({
    cursor: z.string().max(400).optional(),
    limit: z.coerce.number().int().min(1).max(500).default(100),
    ...more,
  });
}

export function pageOf<S extends z.ZodType>(items: S) {
  return z.strictObject({ items: z.array(items), nextCursor: z.string().nullable() });
}
