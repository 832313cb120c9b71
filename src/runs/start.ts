import type { Agent } from '../core/agent.ts';
import { USER, USER_ID } from '../core/agent.ts';
import { attachmentPath } from '../core/attachment.ts';
import type { Channel } from '../core/channel.ts';
import { answersBroadcasts, type Carried, chooseCarried } from '../core/delivery.ts';
import { evidenceText } from '../core/evidence.ts';
import { type PersonaPrompt, withinScope } from '../core/persona.ts';
import type { CarriedKind, CarriedMessage, JournalEntry, PromptPart, Run, RunRecord } from '../core/run.ts';
import { seated } from '../core/seat.ts';
import { sessionKeyOf } from '../core/session.ts';
import { shorten } from '../core/text.ts';
import type { BlockView, DeliveryView } from '../store/store.ts';
import { type ActiveAttempt, advance, createAttempt, type Progress, record, scopeNow } from './attempt.ts';
import { type BudgetRules, type Exhausted, reserve } from './budgets.ts';
import {
  buildPrompt,
  instructionSections,
  joinSections,
  MAX_CONVERSATION,
  MAX_EXCERPT,
  promptSections,
  renderPastTurn,
  type Section,
} from './prompt.ts';
import { type Purse, payableOf } from './purse.ts';
import { type Parked, type SeatRules, type TellsPeople, takeSeat } from './seats.ts';
import { type ClaimTrace, traceOf } from './spans.ts';
import type { Tx } from './tx.ts';

/** A run carries at most this many messages; the rest waits for the next one. */
const MAX_CARRIED = 200;
/** And, apart from the one that started it, at most this many characters, so that the prompt fits. */
const MAX_CARRIED_TEXT = 1_000_000;
const MAX_JOURNAL = 50;
const MAX_CHANNELS = 50;
/** Channel context: this many of the newest earlier messages, each truncated to this length. */
const MAX_CONTEXT = 20;
const MAX_CONTEXT_TEXT = 4_000;
const MAX_PAST_TURNS = 50;
/** So many of them are read together. */
const TURNS_READ = 10;

/** A claimed attempt with its prompt. */
export interface Started {
  readonly attempt: ActiveAttempt;
  readonly run: Run;
  readonly agent: Agent;
  /** Who pays for the run; null: its tree. */
  readonly payerId: string | null;
  readonly messages: readonly CarriedMessage[];
  readonly journal: readonly JournalEntry[];
  /** The provider's session id of the conversation that the turn resumes; null: it starts a new one. */
  readonly session: string | null;
  /** Null until its persona has been resolved. */
  readonly instructions: string | null;
  readonly prompt: string;
  readonly promptParts: readonly PromptPart[];
  /** Null if nothing is traced. */
  readonly trace: ClaimTrace | null;
}

export interface StartOptions {
  readonly traced: boolean;
  readonly purse: Purse;
  readonly seats: SeatRules;
  readonly budgets: BudgetRules;
  readonly correspondence: TellsPeople;
}

/**
 * Runs in the transaction that claimed the run: marks what it carries, or finds what its first attempt marked, and
 * records the prompt. Returns null if there is nothing left to carry, or when a
 * provider can be used again, or which budget is used up.
 */
export async function startRun(
  tx: Tx,
  run: Run,
  now: number,
  { traced, purse, seats, budgets, correspondence }: StartOptions,
): Promise<Started | Parked | Exhausted | null> {
  // Together, because each wait for the store counts; most of it is looked at below.
  const [stored] = await Promise.all([
    tx.agents.getAgent({ id: run.agentId }) as Promise<Agent>,
    tx.deliveries.listPendingSizes({ agentId: run.agentId, limit: MAX_CARRIED }),
    tx.trees.getTree({ id: run.treeId }),
    tx.agents.getScope({ id: run.agentId }),
    known(tx, { id: run.agentId }),
    tx.limits.listLimitsOf({ nodeId: run.nodeId, agentId: run.agentId, now }),
    tx.budgets.listBudgetsOf({ treeId: run.treeId, personId: run.payerId ?? USER_ID, now }),
    tx.subscriptions.listSubscribers({ subjectId: run.agentId }),
  ]);
  const carried = run.attempt === 1 ? await inject(tx, run, purse) : await tx.deliveries.listCarried({ runId: run.id });
  if (carried.length === 0) return null;
  const agent = await takeSeat(tx, seats, correspondence, stored, run, now);
  if (!('id' in agent)) return agent;

  const records = run.attempt === 1 ? [] : await tx.records.listRecords({ runId: run.id });
  const journal = journalOf(records);
  const from = Date.now();
  const { session, messages, shown, prompt, promptParts } = await build(tx, agent, carried, journal);
  const payerId = triggerOf(carried)?.payerId ?? null;
  const reserved = await reserve(tx, budgets, { run, agent, payerId, prompt }, now);
  if ('budgetId' in reserved) return reserved;
  const trace = traced ? await traceOf(tx, carried, { from, to: Date.now() }) : null;
  const called = records.some(({ type }) => type === 'tool_call_message');
  const scope = await tx.agents.getScope({ id: agent.id });
  const attempt = createAttempt(run, agent, { step: records.at(-1)?.step ?? 0, called, scope });
  attempt.budgeted = reserved.budgeted;
  for (const [channelId, seq] of shown) attempt.shown.set(channelId, seq);
  // A persona is resolved outside the transaction, so its agent's prompt is recorded later.
  const written = agent.persona === null ? await writePrompt(tx, { attempt, agent, prompt, promptParts }, now) : null;
  if (written) advance(attempt, written.progress);
  await tx.events.appendEvent({
    type: 'run_started',
    at: now,
    agentId: agent.id,
    data: { runId: run.id, agentId: agent.id, attempt: run.attempt },
  });
  const messageIds = carried.map((delivery) => delivery.messageId);
  await tx.events.appendEvent({
    type: 'delivery_updated',
    at: now,
    agentId: agent.id,
    data: { agentId: agent.id, runId: run.id, state: 'injected', messageIds },
  });
  const trigger = triggerOf(carried);
  const channelId = trigger?.channelId;
  if (channelId) {
    const data = { agentId: agent.id, runId: run.id, channelId };
    await tx.events.appendEvent({ type: 'agent_typing', at: now, agentId: agent.id, channelId, data });
  }
  const instructions = written?.instructions ?? null;
  return { attempt, run, agent, payerId, session, messages, journal, instructions, prompt, promptParts, trace };
}

/** Records the start of the turn and returns the system prompt. */
export async function writePrompt(
  tx: Tx,
  { attempt, agent, prompt, promptParts }: Pick<Started, 'attempt' | 'agent' | 'prompt' | 'promptParts'>,
  now: number,
): Promise<{ readonly instructions: string; readonly progress: Progress }> {
  const sections = await sectionsOf(tx, agent, attempt);
  const instructions = joinSections(sections);
  const entries = [
    { type: 'system_message', content: instructions, sections: partsOf(sections) },
    { type: 'user_message', content: prompt, sections: promptParts },
  ] as const;
  return { instructions, progress: await record(tx, attempt, entries, now) };
}

/** The system prompt: role, memory, channels and guidance. */
export async function instructionsOf(
  tx: Tx,
  agent: Agent,
  attempt: Pick<ActiveAttempt, 'agentId' | 'widest' | 'persona'>,
): Promise<string> {
  return joinSections(await sectionsOf(tx, agent, attempt));
}

async function sectionsOf(
  tx: Tx,
  agent: Agent,
  attempt: Pick<ActiveAttempt, 'agentId' | 'widest' | 'persona'>,
): Promise<Section[]> {
  const tools = await scopeNow(tx, attempt);
  return instructionSections({ ...agent, tools }, ...(await known(tx, agent)), attempt.persona);
}

function partsOf(sections: readonly { readonly name: string; readonly text: string }[]): PromptPart[] {
  return sections.map(({ name, text }) => ({ name, length: text.length }));
}

async function build(
  tx: Tx,
  agent: Agent,
  carried: readonly DeliveryView[],
  journal: readonly JournalEntry[],
): Promise<Pick<Started, 'session' | 'messages' | 'prompt' | 'promptParts'> & { shown: Map<string, number> }> {
  const [{ messages, shown }, { session, resumed, conversation, taken }] = await Promise.all([
    withContext(tx, agent, carried).then(async (context) => ({
      ...context,
      messages: await withEnclosures(tx, context.messages),
    })),
    unseen(tx, agent),
  ]);
  const sections = promptSections({ conversation, resumed, messages, journal, taken });
  return { session, messages, shown, prompt: joinSections(sections), promptParts: partsOf(sections) };
}

/** What the system prompt contains in addition to the instructions: memory and channels. */
async function known(tx: Tx, { id }: Pick<Agent, 'id'>): Promise<[BlockView[], Channel[]]> {
  const [joined, blocks] = await Promise.all([
    tx.channels.listJoined({ participantId: id, limit: MAX_CHANNELS }),
    tx.memory.listSeenBlocks({ readerId: id }),
  ]);
  return [blocks, joined.filter(({ teamOf }) => teamOf === null)];
}

/** The prompt that a turn would start with now, section by section, as far as it is known in advance. */
export async function previewPrompt(tx: Tx, agent: Agent, persona: PersonaPrompt | null): Promise<Section[]> {
  const scope = await tx.agents.getScope({ id: agent.id });
  const tools = persona === null ? scope : withinScope(persona.tools, scope);
  const sections = instructionSections({ ...agent, tools }, ...(await known(tx, agent)), persona);
  const sizes = await tx.deliveries.listPendingSizes({ agentId: agent.id, limit: MAX_CARRIED });
  const pending = (await tx.deliveries.listPending({ agentId: agent.id, limit: readable(sizes) })).map((delivery) => ({
    ...delivery,
    size: delivery.text.length,
  }));
  const { messages } = await withContext(tx, agent, cutCarried(chooseCarried(pending)).deliveries);
  const { resumed, conversation, taken } = await unseen(tx, seated(agent));
  const text = buildPrompt({ conversation, resumed, messages, journal: [], taken });
  return text === '' ? sections : [...sections, { name: 'messages', text }];
}

/** Chooses what the run carries and marks it; this also determines what it serves and who pays for it. */
export async function inject(tx: Tx, run: Run, purse: Purse | null = null): Promise<readonly DeliveryView[]> {
  const pending = await tx.deliveries.listPendingSizes({ agentId: run.agentId, limit: MAX_CARRIED });
  const payable = purse ? await payableOf(tx, run, pending, purse) : pending;
  const { serves, deliveries: chosen } = cutCarried(chooseCarried(payable));
  for (const { messageId } of chosen) {
    await tx.deliveries.injectDelivery({ messageId: messageId, agentId: run.agentId, runId: run.id });
  }
  const deliveries = await tx.deliveries.listCarried({ runId: run.id });
  const trigger = triggerOf(deliveries);
  await tx.runs.setRunStart({
    id: run.id,
    serves,
    triggerId: trigger?.messageId ?? null,
    chainDepth: chainDepth(deliveries),
    payerId: trigger?.payerId ?? null,
  });
  return deliveries;
}

/** What made the run begin. */
function triggerOf(deliveries: readonly DeliveryView[]): DeliveryView | undefined {
  return deliveries.find((delivery) => delivery.deliveryKind !== 'news') ?? deliveries[0];
}

/** How many deliveries a preview reads, from the first: later ones would not be shown, with one exception. */
function readable(sizes: readonly { readonly size: number }[]): number {
  let [count, characters] = [0, 0];
  for (const { size } of sizes) {
    count += 1;
    characters += size;
    if (characters > MAX_CARRIED_TEXT) return count;
  }
  return MAX_CARRIED;
}

type Sized = Pick<DeliveryView, 'deliveryKind'> & { readonly size: number };

/** The one that starts the run, and the others in order up to the limits; the rest stays pending. */
function cutCarried<T extends Sized>(chosen: Carried<T>): Carried<T> {
  const first = chosen.deliveries.find((delivery) => delivery.deliveryKind !== 'news') ?? chosen.deliveries[0];
  let size = 0;
  const deliveries = chosen.deliveries.filter((delivery) => {
    size += delivery.size;
    return delivery === first || size <= MAX_CARRIED_TEXT;
  });
  return { ...chosen, deliveries };
}

/** The carried messages, and what others said in the same channels since the agent last looked, in order of posting. */
async function withContext(
  tx: Tx,
  agent: Agent,
  carried: readonly DeliveryView[],
): Promise<{ messages: CarriedMessage[]; shown: Map<string, number> }> {
  const shown = new Map<string, number>();
  const broadcast = answersBroadcasts(carried) ? 'answered' : 'heard';
  const all = carried.map((delivery) => ({
    seq: delivery.seq,
    message: { ...toCarriedMessage(delivery), ...(delivery.broadcast !== null && ({ broadcast } as const)) },
  }));
  const ids = new Set(carried.map((delivery) => delivery.messageId));
  const channelIds = new Set(carried.filter(isSaidToAll).map((delivery) => delivery.channelId));
  const contexts = await Promise.all(
    [...channelIds].map(async (channelId) => {
      const member = await tx.channels.getMember({ channelId, participantId: agent.id });
      if (!member) return null;
      const after = member.readSeq;
      const said = await tx.messages.listSaid({ channelId, readerId: agent.id, after, limit: MAX_CONTEXT });
      return { channelId, after, said };
    }),
  );
  for (const { channelId, after, said } of contexts.filter((context) => context !== null)) {
    shown.set(channelId, said[0]?.seq ?? after);
    for (const { id, seq, handle, text: whole } of said) {
      if (ids.has(id)) continue;
      const text = shorten(whole, MAX_CONTEXT_TEXT);
      const from = handle === USER_ID ? USER : handle;
      all.push({ seq, message: { id, from, channelId, text, kind: 'context', channel: channelId } });
    }
  }
  all.sort((a, b) => a.seq - b.seq);
  return { messages: all.map(({ message }) => message), shown };
}

/** The files of each message, which are in the workspace when the turn begins, and what it claims. */
async function withEnclosures(tx: Tx, messages: readonly CarriedMessage[]): Promise<CarriedMessage[]> {
  const messageIds = messages.map(({ id }) => id);
  const [found, claimed] = await Promise.all([
    tx.attachments.listAttachments({ messageIds }),
    tx.evidence.listEvidence({ messageIds }),
  ]);
  return messages.map((message) => {
    const attachments = found
      .filter(({ messageId }) => messageId === message.id)
      .map(({ name, hash, mediaType, size }) => ({ path: attachmentPath({ name, hash }), mediaType, size, hash }));
    const evidence = claimed.filter(({ messageId }) => messageId === message.id).map(evidenceText);
    return {
      ...message,
      ...(attachments.length > 0 && { attachments }),
      ...(evidence.length > 0 && { evidence }),
    };
  });
}

/** In a channel created by people, not a team's. */
function isSaidToAll({ channelKind, teamOf }: DeliveryView): boolean {
  return channelKind !== 'dm' && teamOf === null;
}

/** 0 if a person's message is carried, otherwise one more than the deepest. */
function chainDepth(carried: readonly DeliveryView[]): number {
  if (carried.some((delivery) => delivery.authorKind === 'person')) return 0;
  return Math.max(0, ...carried.map((delivery) => delivery.chainDepth)) + 1;
}

export function toCarriedMessage(delivery: DeliveryView): CarriedMessage {
  const message = {
    id: delivery.messageId,
    from: authorOf(delivery),
    channelId: delivery.channelId,
    text: delivery.text,
    kind: kindOf(delivery),
    ...(isSaidToAll(delivery) && { channel: delivery.channelId }),
  };
  return delivery.inReplyTo === null ? message : { ...message, inReplyTo: delivery.inReplyTo };
}

/** Neighbours use names; in a channel there are others, so handles are used, which also work as mentions. */
function authorOf(delivery: DeliveryView): string {
  const { authorKind, authorHandle, authorName } = delivery;
  if (authorHandle === USER_ID) return USER;
  return authorKind === 'person' || isSaidToAll(delivery) ? authorHandle : (authorName ?? authorHandle);
}

export function kindOf(delivery: Pick<DeliveryView, 'kind' | 'late' | 'deliveryKind'>): CarriedKind {
  if (delivery.late) return 'late';
  if (delivery.kind === 'reply' || delivery.kind === 'error' || delivery.kind === 'notice') return delivery.kind;
  return delivery.deliveryKind === 'request' ? 'request' : 'news';
}

/** The session that the agent's next turn resumes, and the completed turns that it has not seen. */
async function unseen(tx: Tx, agent: Agent) {
  const found = await tx.sessions.getSession(sessionKeyOf(agent));
  const session = found?.handle ?? null;
  const conversation = await conversationAfter(tx, agent.id, found?.lastRunSeq ?? 0);
  const isTaken = found?.takenFrom != null;
  const { workspaceId } = agent;
  const work = isTaken && workspaceId !== null ? await tx.wips.getWip({ workspaceId }) : null;
  const runId = session && (found?.lastRunId ?? null);
  const taken = isTaken ? { from: found.takenFrom as string, runId, workRunId: work?.runId ?? null } : null;
  return { session, resumed: session !== null && found?.lastRunId !== null, conversation, taken };
}

/** Earlier turns, oldest first, as many of the newest as fit. */
async function conversationAfter(tx: Tx, agentId: string, after: number): Promise<string[]> {
  const turns: string[] = [];
  let room = MAX_CONVERSATION;
  // Messages can be a million characters long; one more than is shown is enough to see that something is left out.
  const longest = MAX_EXCERPT + 1;
  const runs = await tx.runs.listPast({ agentId, after, limit: MAX_PAST_TURNS, longest });
  for (let first = 0; first < runs.length; first += TURNS_READ) {
    const some = runs.slice(first, first + TURNS_READ);
    const carried = await Promise.all(some.map(({ id: runId }) => tx.deliveries.listExcerptsOfRun({ runId, longest })));
    for (const [i, run] of some.entries()) {
      const turn = renderPastTurn((carried[i] ?? []).map(toCarriedMessage), run.finalText ?? '');
      room -= turn.length;
      if (room < 0) return turns;
      turns.unshift(turn);
    }
  }
  return turns;
}

/** What earlier attempts said, which of their calls succeeded, and which have an unknown outcome. */
function journalOf(records: readonly RunRecord[]): JournalEntry[] {
  const calls = new Map<string, RunRecord>();
  const journal: JournalEntry[] = [];
  const ended = new Set(records.flatMap((row) => (row.type === 'tool_return_message' ? (row.callId ?? []) : [])));
  for (const row of records) {
    if (row.type === 'assistant_message') journal.push({ type: 'text', text: String(row.content) });
    if (row.type === 'tool_call_message' && row.callId) {
      calls.set(row.callId, row);
      // Only calls recorded before they began have a key.
      if (row.callKey && row.tool && !ended.has(row.callId)) {
        const result = { outcome: 'unknown' };
        journal.push({ type: 'call', tool: row.tool, arguments: row.content, result });
      }
    }
    if (row.type !== 'tool_return_message' || row.isError || !row.callId) continue;
    const call = calls.get(row.callId);
    if (!call?.tool) continue;
    journal.push({
      type: 'call',
      tool: call.tool,
      arguments: call.content,
      result: row.content,
    });
  }
  return journal.slice(-MAX_JOURNAL);
}
