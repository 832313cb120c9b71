import type { Agent } from '../core/agent.ts';
import { SYSTEM_ID } from '../core/agent.ts';
import { answersBroadcasts } from '../core/delivery.ts';
import { SubstratError } from '../core/errors.ts';
import type { Broadcast, Message } from '../core/message.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Run } from '../core/run.ts';
import type { Respondent } from '../store/store.ts';
import { openDm } from './channels.ts';
import { post } from './post.ts';
import { NO_REPLY } from './replies.ts';
import type { Tx } from './tx.ts';

/** How long the replies to a broadcast are collected. */
const COLLECT_MS = 60_000;

/**
 * Sends news to all siblings in the team channel. Replies are collected, so that the broadcaster is woken once. At
 * the maximum chain depth, a broadcast wakes nobody and collects nothing.
 */
export async function broadcast(
  tx: Tx,
  rules: { readonly maxChainDepth: number },
  from: { readonly agent: Agent; readonly run: Run },
  text: string,
  now: number,
): Promise<{ messageId: string; recipients: number }> {
  const { agent, run } = from;
  const team = agent.parentId && (await tx.channels.getTeamChannel({ teamOf: agent.parentId }));
  const siblings = agent.parentId ? await tx.agents.listSiblings({ id: agent.id, parentId: agent.parentId }) : [];
  if (!team || siblings.length === 0) {
    throw new SubstratError(
      'bad_request',
      'You do not have siblings, so nothing was sent. Use send_message to write to your parent or children.',
    );
  }
  const wakes = run.chainDepth < rules.maxChainDepth;
  const messageId = await post(
    tx,
    {
      channelId: team.id,
      authorId: agent.id,
      runId: run.id,
      kind: 'message',
      text,
      chainDepth: run.chainDepth,
      payerId: run.payerId,
      recipients: siblings.map(({ id }) => ({ agentId: id, kind: 'news', round: wakes ? 'free' : 'quiet' })),
    },
    now,
  );
  if (wakes && siblings.some(({ provider }) => provider !== EXTERNAL)) {
    const quiet = run.chainDepth + 1 >= rules.maxChainDepth;
    const collection = { messageId, authorId: agent.id, quiet, closesAt: now + COLLECT_MS };
    await tx.broadcasts.insertBroadcast(collection);
  }
  return { messageId, recipients: siblings.length };
}

/** Sends the final text of a run that carries only broadcasts to their authors. Returns whether anybody gets it. */
export async function answerBroadcasts(tx: Tx, run: Run, finalText: string, now: number): Promise<boolean> {
  if (run.serves !== null || !finalText.trim() || finalText.trim() === NO_REPLY) return false;
  const carried = await tx.deliveries.listHeadsOfRun({ runId: run.id });
  if (!answersBroadcasts(carried) || (await tx.records.countReturns({ runId: run.id, tool: 'do_nothing' })))
    return false;
  const agent = (await tx.agents.getAgent({ id: run.agentId })) as Agent;
  let heard = false;
  for (const { broadcast: id } of carried) {
    const collection = id === null ? null : await tx.broadcasts.getBroadcast({ id });
    const author = collection && (await tx.agents.getAgent({ id: collection.authorId }));
    if (!author || author.terminatedAt !== null) continue;
    // If it already wrote to the broadcaster, that was its reply.
    const channelId = await openDm(tx, agent, author, now);
    if (await tx.broadcasts.hasSpoken({ runId: run.id, channelId })) continue;
    await replyToBroadcast(tx, collection, { run, agent, text: finalText }, now);
    heard = true;
  }
  return heard;
}

/** The broadcast that a run answers by writing to its author; only if the run carries nothing but broadcasts. */
export async function broadcastOf(tx: Tx, run: Run, authorId: string): Promise<Broadcast | null> {
  if (run.serves !== null) return null;
  const carried = await tx.deliveries.listHeadsOfRun({ runId: run.id });
  if (!answersBroadcasts(carried)) return null;
  const id = carried.findLast((one) => one.authorId === authorId && one.broadcast !== null)?.broadcast;
  return id ? tx.broadcasts.getBroadcast({ id }) : null;
}

/** Stores one respondent's message: held until the others have replied, delivered immediately if it is late. */
export async function replyToBroadcast(
  tx: Tx,
  { messageId: id, authorId, closedAt, quiet }: Broadcast,
  { run, agent, text }: { readonly run: Run; readonly agent: Agent; readonly text: string },
  now: number,
): Promise<string> {
  const author = (await tx.agents.getAgent({ id: authorId })) as Agent;
  return post(
    tx,
    {
      channelId: await openDm(tx, agent, author, now),
      authorId: agent.id,
      runId: run.id,
      kind: 'reply',
      text,
      inReplyTo: id,
      late: closedAt !== null,
      chainDepth: run.chainDepth,
      payerId: run.payerId,
      recipients: [{ agentId: authorId, kind: 'news', round: closedAt === null ? 'held' : quiet ? 'quiet' : 'free' }],
    },
    now,
  );
}

/** A run of the agent, or the agent itself, has ended: closes broadcasts that wait for nobody else. */
export async function settleBroadcasts(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const one of await tx.broadcasts.listOpenBroadcastsTo({ agentId })) {
    const respondents = await tx.broadcasts.listRespondents({ id: one.messageId });
    const awaited = respondents.some(
      ({ state, live, provider }) => provider !== EXTERNAL && live > 0 && (state === 'pending' || state === 'injected'),
    );
    if (!awaited) await close(tx, one, respondents, now);
  }
}

/** Closes broadcasts whose time is over. */
export async function closeDueBroadcasts(tx: Tx, now: number): Promise<void> {
  for (const one of await tx.broadcasts.listDueBroadcasts({ now })) {
    await close(tx, one, await tx.broadcasts.listRespondents({ id: one.messageId }), now);
  }
}

/** Delivers all replies to the broadcaster together, with a list of those who did not reply. */
async function close(tx: Tx, one: Broadcast, respondents: readonly Respondent[], now: number): Promise<void> {
  const { messageId: id, authorId: agentId } = one;
  if (!(await tx.broadcasts.tryCloseBroadcast({ id, at: now }))) return;
  const author = (await tx.agents.getAgent({ id: agentId })) as Agent;
  if (author.terminatedAt !== null) return;
  const round = one.quiet ? 'quiet' : 'free';
  await tx.broadcasts.releaseReplies({ id, agentId, round });
  const message = (await tx.messages.getMessage({ id })) as Message;
  const text = silenceOf(id, respondents);
  if (text !== null) {
    await post(
      tx,
      {
        channelId: message.channelId,
        authorId: SYSTEM_ID,
        runId: null,
        kind: 'notice',
        text,
        chainDepth: message.chainDepth + 1,
        payerId: message.payerId,
        recipients: [{ agentId, kind: 'news', round }],
      },
      now,
    );
  }
  await tx.runs.wakeAgent({ agentId, now });
}

/** Describes who did not reply to a broadcast; null if everybody did. */
function silenceOf(id: string, respondents: readonly Respondent[]): string | null {
  const silent = respondents.filter(({ replies, provider }) => replies === 0 && provider !== EXTERNAL);
  const names = (read: boolean) =>
    silent.filter(({ state }) => (state === 'acknowledged' || state === 'dead') === read).map(({ name }) => name);
  const [said, unread] = [names(true), names(false)];
  const parts = [
    ...(said.length > 0 ? [`no reply from ${said.join(', ')}`] : []),
    ...(unread.length > 0 ? [`no answer yet from ${unread.join(', ')}`] : []),
  ];
  return parts.length === 0 ? null : `On your broadcast (message ${id}): ${parts.join('; ')}.`;
}
