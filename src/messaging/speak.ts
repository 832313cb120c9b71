import type { Agent } from '../core/agent.ts';
import type { NewAttachment } from '../core/attachment.ts';
import type { Channel } from '../core/channel.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import { mentioned } from '../core/mentions.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Run } from '../core/run.ts';
import { shorten } from '../core/text.ts';
import type { MemberView } from '../store/store.ts';
import { countWord, payerOf, type Scheduled } from './allowance.ts';
import { otherSide } from './channels.ts';
import { post, type Recipient } from './post.ts';
import { type Answered, reply, type Unanswered } from './replies.ts';
import { advance, joinRound } from './rounds.ts';
import { type Held, type MessagingRules, requestMeant, sendAsPerson } from './send.ts';
import type { Tx } from './tx.ts';

/** The author of a channel message; for an agent, with its run. */
export interface Speaker {
  readonly id: string;
  readonly handle: string;
  readonly run: Run | null;
  readonly held?: Held;
  readonly scheduled?: Scheduled;
}

/** Posts to a channel that the speaker may write to, and decides who is woken. */
export async function speak(
  tx: Tx,
  rules: MessagingRules,
  speaker: Speaker,
  channel: Channel,
  message: {
    readonly text: string;
    readonly thread?: string | undefined;
    readonly attachments?: readonly NewAttachment[];
  },
  now: number,
): Promise<Answered | Unanswered> {
  const threadId = message.thread === undefined ? null : await threadOf(tx, channel, message.thread);
  const words: Words = { text: message.text, threadId, attachments: message.attachments ?? [] };
  const said =
    channel.kind === 'dm'
      ? await speakInDm(tx, rules, speaker, channel, words, now)
      : { messageId: await speakToAll(tx, rules, speaker, channel, words, now), answered: null };
  const stored = await tx.messages.getMessage({ id: said.messageId });
  // A speaker counts as having read everything before.
  await tx.channels.raiseRead({ channelId: channel.id, participantId: speaker.id, seq: stored?.seq ?? 0 });
  return said;
}

interface Words {
  readonly text: string;
  readonly threadId: string | null;
  readonly attachments: readonly NewAttachment[];
}

async function speakToAll(
  tx: Tx,
  rules: MessagingRules,
  speaker: Speaker,
  channel: Channel,
  { text, threadId, attachments }: Words,
  now: number,
): Promise<string> {
  const { id, run } = speaker;
  const others = (await tx.channels.listMembers({ channelId: channel.id })).filter(
    (member) => member.id !== id && member.kind === 'agent' && member.terminatedAt === null,
  );
  const names = new Set(
    mentioned(
      text,
      others.map(({ handle }) => handle),
    ),
  );
  const woken = others.filter(({ wake, handle }) => wake !== 'none' && (names.has(handle) || (!run && wake === 'all')));
  const recipients = run
    ? run.chainDepth < rules.maxChainDepth
      ? await called(tx, channel.id, woken)
      : []
    : await inTurns(tx, channel.id, woken);
  if (!run) await countWord(tx, rules, speaker, await treesOf(tx, woken), now, speaker.scheduled);
  const messageId = await post(
    tx,
    {
      channelId: channel.id,
      authorId: id,
      runId: run?.id ?? null,
      kind: 'message',
      text,
      threadId,
      attachments,
      chainDepth: run?.chainDepth ?? 0,
      payerId: run ? run.payerId : payerOf(speaker, speaker.scheduled),
      ...(speaker.scheduled && { cause: 'schedule' }),
      recipients,
    },
    now,
  );
  if (!run) await advance(tx, channel.id, now);
  return messageId;
}

/** People's posts reach agents one after another; external agents get them immediately. */
async function inTurns(tx: Tx, channelId: string, woken: readonly MemberView[]): Promise<Recipient[]> {
  const [external, ours] = [true, false].map((is) => woken.filter(({ provider }) => (provider === EXTERNAL) === is));
  const inOrder = await joinRound(
    tx,
    channelId,
    (ours ?? []).map(({ id }) => id),
  );
  return [...(external ?? []).map(asNews), ...inOrder];
}

/** An agent mentioned before its turn gets the mention in its turn: one run for both. */
async function called(tx: Tx, channelId: string, woken: readonly MemberView[]): Promise<Recipient[]> {
  const recipients: Recipient[] = [];
  for (const member of woken) {
    const turn = await tx.rounds.getPlace({ channelId, agentId: member.id as AgentId });
    recipients.push({ ...asNews(member), round: turn?.state === 'waiting' ? 'held' : 'free' });
  }
  return recipients;
}

function asNews({ id }: MemberView): Recipient {
  return { agentId: id, kind: 'news' };
}

async function speakInDm(
  tx: Tx,
  rules: MessagingRules,
  speaker: Speaker,
  channel: Channel,
  { text, threadId, attachments }: Words,
  now: number,
): Promise<Answered | Unanswered> {
  const { run } = speaker;
  const other = await otherSide(tx, channel, speaker.id);
  const agent = await tx.agents.getAgent({ id: other.id });
  if (agent?.terminatedAt) throw new SubstratError('terminated', `${agent.handle} is terminated and cannot answer.`);
  if (!run && agent) {
    return sendAsPerson(tx, rules, speaker, agent, { text, threadId, attachments }, now);
  }
  const request = run && (await requestMeant(tx, { run, held: speaker.held ?? null }, other));
  if (request) return reply(tx, request, { run, text }, now);
  const wakes = agent !== null && run !== null && run.chainDepth < rules.maxChainDepth;
  const messageId = await post(
    tx,
    {
      channelId: channel.id,
      authorId: speaker.id,
      runId: run?.id ?? null,
      kind: 'message',
      text,
      threadId,
      attachments,
      chainDepth: run?.chainDepth ?? 0,
      payerId: run ? run.payerId : payerOf(speaker),
      recipients: wakes ? [{ agentId: agent.id, kind: 'news' }] : [],
    },
    now,
  );
  return { messageId, answered: null };
}

/** Any message of a thread refers to the thread's first message. */
async function threadOf(tx: Tx, channel: Channel, id: string): Promise<string> {
  const parent = await tx.messages.getMessage({ id });
  if (parent?.channelId !== channel.id || parent.deletedAt !== null) {
    throw new SubstratError('not_found', `There is no message ${shorten(id)} in ${channel.id} to answer in a thread.`);
  }
  return parent.threadId ?? parent.id;
}

async function treesOf(tx: Tx, members: readonly MemberView[]): Promise<string[]> {
  const trees = [];
  for (const { id } of members) trees.push(((await tx.agents.getAgent({ id: id as AgentId })) as Agent).treeId);
  return trees;
}
