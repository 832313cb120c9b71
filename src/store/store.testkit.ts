import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { hashOf } from '../core/attachment.ts';
import type { ConversationEntry } from '../core/conversation.ts';
import type { DeliveryKind, Round } from '../core/delivery.ts';
import type { Message } from '../core/message.ts';
import type { Run } from '../core/run.ts';
import type { AttemptUsage, Tokens } from '../core/usage.ts';
import type { Wip } from '../core/wip.ts';
import type { Store, Tx } from './store.ts';

export interface StoreSubject {
  readonly name: string;
  /** Whether a second store can open the same database. */
  readonly shared: boolean;
  /** Creates an empty database. */
  create(): Promise<{ open(): Promise<Store>; remove(): Promise<void> }>;
}

type Work<T> = (tx: Tx) => Promise<T>;

/** The store under test. Its tests share one database: each creates its own agents on its own node. */
export interface StoreKit {
  readonly shared: boolean;
  readonly store: Store;
  read<T>(work: Work<T>): Promise<T>;
  write<T>(work: Work<T>): Promise<T>;
  /** A second store on the same database, as another process would have; the same store if that is not possible. */
  openAnother(): Promise<Store>;
  /** The queries that no test has called yet. */
  uncalled(): Promise<string[]>;
}

/** Call it inside `describe`. */
export function useStore(subject: StoreSubject): StoreKit {
  let database: Awaited<ReturnType<StoreSubject['create']>>;
  let store: Store;
  const others: Store[] = [];
  const called = new Set<string>();
  const notingPart = (part: string, methods: object) =>
    new Proxy(methods, { get: (target, name) => called.add(`${part}.${String(name)}`) && Reflect.get(target, name) });
  const noting =
    <T>(work: Work<T>): Work<T> =>
    (tx) =>
      work(Object.fromEntries(Object.entries(tx).map(([part, methods]) => [part, notingPart(part, methods)])) as never);

  beforeAll(async () => {
    database = await subject.create();
    store = await database.open();
  });
  afterEach(() => Promise.all(others.splice(0).map((other) => other.close())));
  afterAll(async () => {
    await store?.close();
    await database?.remove();
  });

  return {
    shared: subject.shared,
    get store() {
      return store;
    },
    read: (work) => store.read(noting(work)),
    write: (work) => store.write(noting(work)),
    openAnother: async () => {
      if (!subject.shared) return store;
      const other = await database.open();
      others.push(other);
      return other;
    },
    uncalled: () =>
      store.read(async (tx) =>
        Object.entries(tx)
          .flatMap(([part, methods]) => Object.keys(methods).map((name) => `${part}.${name}`))
          .filter((method) => !called.has(method)),
      ),
  };
}

let count = 0;

/** A new agent and a channel `in-<id>` for its messages. A child is like its parent; a root has its own node. */
export async function addAgent(tx: Tx, change: Partial<Agent> & { parent?: Agent } = {}): Promise<Agent> {
  const { parent, ...rest } = change;
  const id = randomUUID();
  count += 1;
  const name = rest.name ?? `Agent-${count}`;
  const agent: Agent = {
    id,
    treeId: parent?.treeId ?? id,
    parentId: parent?.id ?? null,
    depth: (parent?.depth ?? -1) + 1,
    name,
    nameKey: name.toLowerCase(),
    handle: `${name}.${count}`,
    role: 'worker',
    instructions: '',
    provider: 'scripted',
    model: null,
    program: null,
    workspace: '/nowhere',
    workspaceId: null,
    tools: null,
    persona: null,
    personaArgs: null,
    revision: 1,
    nodeId: parent?.nodeId ?? `node-${id}`,
    spawnedBy: null,
    ready: true,
    completing: false,
    maySpawn: null,
    fallback: null,
    account: '',
    actingProvider: null,
    actingModel: null,
    actingAccount: '',
    seatNew: false,
    restTold: false,
    restUntil: 0,
    rests: 0,
    pausedAt: null,
    pausedReason: null,
    gatedAt: null,
    permitted: false,
    gateTold: false,
    metadata: {},
    createdAt: count,
    terminatedAt: null,
    ...rest,
  };
  await tx.agents.insertAgent(agent);
  await tx.channels.insertChannel({
    id: `in-${id}`,
    kind: 'dm',
    topic: '',
    pair: null,
    teamOf: null,
    createdBy: null,
    createdAt: count,
  });
  return agent;
}

interface Mail {
  readonly to: Agent;
  /** The author's id; default: the owner's. */
  readonly from?: string;
  readonly kind?: DeliveryKind;
  readonly text?: string;
  readonly messageKind?: Message['kind'];
  readonly inReplyTo?: string;
  /** For a request: the parent request and the deadline. */
  readonly parent?: string;
  readonly deadlineAt?: number;
  /** Its round in a channel. */
  readonly round?: Round;
  readonly trace?: string;
  readonly payer?: string;
  /** The run that sent it. */
  readonly runId?: string;
}

/** Stores a message with its event and its delivery, and returns its id. Wakes nobody. */
export async function send(tx: Tx, mail: Mail): Promise<string> {
  const { to, from = 'user', kind = 'news' } = mail;
  const id = randomUUID();
  await tx.events.appendEvent({ type: 'agent_resumed', at: 0, data: { agentId: to.id } });
  await tx.messages.insertMessage({
    id,
    channelId: `in-${to.id}`,
    authorId: from,
    runId: mail.runId ?? null,
    kind: mail.messageKind ?? (kind === 'reply' ? 'reply' : 'message'),
    text: mail.text ?? '',
    inReplyTo: mail.inReplyTo ?? null,
    late: false,
    chainDepth: 0,
    createdAt: 0,
    threadId: null,
    trace: mail.trace ?? null,
    payerId: mail.payer ?? null,
  });
  if (kind === 'request') {
    const [parentId, deadlineAt] = [mail.parent ?? null, mail.deadlineAt ?? null];
    await tx.requests.insertRequest({ messageId: id, askerId: from, recipientId: to.id, parentId, deadlineAt });
  }
  await tx.deliveries.insertDelivery({ messageId: id, agentId: to.id, kind, round: mail.round ?? 'free' });
  return id;
}

/** Closes the request and sends the reply that closes it. */
export async function answer(tx: Tx, request: string, asker: Agent, from: Agent): Promise<string> {
  await tx.requests.tryCloseRequest({ id: request, at: 1 });
  const reply = await send(tx, { to: asker, from: from.id, kind: 'reply', inReplyTo: request });
  await tx.requests.setRequestReply({ id: request, replyId: reply });
  return reply;
}

/** A git workspace that was not pushed yet. */
export function wipOf(change: Pick<Wip, 'workspaceId' | 'agentId'> & Partial<Wip>): Wip {
  const nothing = { hash: null, head: null, branch: null, runId: null, saved: false, problem: null, leftOut: [] };
  return { remote: 'r', source: '/s', base: 'b', ...nothing, moves: 0, ...change };
}

/** A node as it registers. */
export const NODE: Parameters<Tx['nodes']['registerNode']>[0] = {
  id: 'node',
  name: 'node',
  host: 'host',
  home: '/home/node',
  incarnation: 'incarnation',
  version: '0.2.0',
  labels: [],
  providers: [],
  shared: [],
  slots: 4,
  wipRemote: null,
  deadAfterMs: 60_000,
  startedAt: 1,
  clockAt: 1,
};

/** Sends the agent a request and creates a run for it, which waits to be claimed. */
export async function queueRun(tx: Tx, agent: Agent): Promise<Run> {
  await send(tx, { to: agent, kind: 'request' });
  await tx.runs.wakeAgent({ agentId: agent.id, now: 0 });
  return (await tx.runs.getLiveRun({ agentId: agent.id })) as Run;
}

type Claim = Parameters<Tx['runs']['claimRun']>[0];

/** Claims as the scheduler does, with an event in the same transaction. */
export async function claim(tx: Tx, nodeId: string, change: Partial<Claim> = {}): Promise<Run | null> {
  const filter = {
    nodeId,
    now: 1000,
    leaseMs: 100,
    maxTreeRuns: 100,
    fullProviders: [],
    busyAgents: [],
    spent: [],
    suspectFrom: null,
    boot: 'boot',
    incarnation: 'incarnation',
    ...change,
  };
  const treeId = await tx.runs.getNextTree(filter);
  const run = await tx.runs.claimRun(filter);
  if (run && treeId === null) throw new Error('a run was claimed that was not announced');
  if (run) await tx.events.appendEvent({ type: 'agent_resumed', at: filter.now, data: { agentId: run.agentId } });
  return run;
}

/** A running run of the agent. */
export async function startRun(tx: Tx, agent: Agent): Promise<Run> {
  await queueRun(tx, agent);
  return (await claim(tx, agent.nodeId)) as Run;
}

export function endRun(tx: Tx, run: Run): Promise<void> {
  return tx.runs.endRun({
    id: run.id,
    fence: run.fence,
    state: 'completed',
    stopReason: 'end_turn',
    error: null,
    finalText: '',
    now: 2000,
  });
}

/** An entry of a conversation. */
export function entryOf(entry: Partial<ConversationEntry> & Pick<ConversationEntry, 'agentId'>): ConversationEntry {
  const counts = { inputTokens: 0, outputTokens: 0 };
  return {
    session: 's',
    n: 1,
    runId: 'r',
    role: 'user',
    content: 'x',
    covers: null,
    ...counts,
    createdAt: 1,
    ...entry,
  };
}

/** Attaches a file to a message. */
export async function attachTo(
  tx: Tx,
  messageId: string,
  { name = 'a.png', text = 'bytes', position = 0 } = {},
): Promise<string> {
  const bytes = Buffer.from(text);
  const hash = hashOf(bytes);
  await tx.attachments.putFile({ hash, mediaType: 'image/png', size: bytes.length, bytes, createdAt: 1 });
  await tx.attachments.insertAttachment({ messageId, position, name, hash });
  return hash;
}

/** What an attempt used, as its program says. */
export function usedBy(run: Run, used: Partial<Tokens>): AttemptUsage {
  const none = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  return { runId: run.id, attempt: run.attempt, grade: 'reported', ...none, ...used };
}
