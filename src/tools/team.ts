import * as z from 'zod';
import { type Agent, agentState, keyOf, USER, USER_ID } from '../core/agent.ts';
import { chooseNews, takeMatching } from '../core/delivery.ts';
import { SubstratError } from '../core/errors.ts';
import { evidenceText } from '../core/evidence.ts';
import { heldState } from '../core/status.ts';
import { broadcast } from '../messaging/broadcasts.ts';
import { resolveChannel } from '../messaging/channels.ts';
import { type Answered, reply, type Unanswered } from '../messaging/replies.ts';
import { send } from '../messaging/send.ts';
import { speak } from '../messaging/speak.ts';
import { giveNews } from '../runs/news.ts';
import { kindOf, toCarriedMessage } from '../runs/start.ts';
import type { DeliveryView, SizedDelivery } from '../store/store.ts';
import { claim, evidenceField } from './evidence.ts';
import { addressed, name, referring } from './references.ts';
import { defineTool, referenceField, type ToolContext, type ToolOutcome, textField } from './tool.ts';

export const sendMessage = defineTool({
  name: 'send_message',
  description:
    'Send a message, either to another agent by `recipient` (your parent, a child or a sibling; a root agent may write to USER), ' +
    'or to a channel or DM by `channelId`. Returns immediately. With `recipient` and `sync`, the reply arrives as your next message ' +
    'after your turn ends; do not wait or poll for it. In a channel, @handle mentions someone.',
  externalDescription:
    'Send a message, either to another agent by `recipient` (your parent, a child or a sibling; a root agent may write to USER), ' +
    'or to a channel or DM by `channelId`. Returns immediately. To answer a request from check_inbox, set `in_reply_to` to its ' +
    'message_id. Without it, the message answers the only open request from that recipient that check_inbox returned, and the result ' +
    'has `answered`. With `sync: true` it is always a new request, and the reply arrives in check_inbox. In a channel, @handle mentions someone.',
  input: z.strictObject({
    recipient: referenceField('Agent name. Set this or channelId.').optional(),
    channelId: referenceField(
      'Id of a channel or DM, such as "general" or "dm-ann-ben". Set this or recipient.',
    ).optional(),
    text: textField('Message body.'),
    // No default: whether it was given matters for requests to people and to agents that wrote first.
    sync: z.boolean().optional().meta({
      default: true,
      description:
        'If true, the reply is delivered as your next message (for an external agent: in check_inbox). Only with recipient.',
    }),
    in_reply_to: referenceField(
      'Id of the message this one answers, if it is not the one that started your turn. In a channel: the thread to answer in.',
    ).optional(),
    evidence: evidenceField,
  }),
  refers: addressed,
  effect: true,
  mayReply: true,
  run: async (context, input) => {
    const { tx, agent, run, attempt, given, settings, now } = context;
    const held = attempt.external ? given : null;
    const { recipient, channelId, text, sync, in_reply_to: inReplyTo, evidence } = input;
    if ((recipient === undefined) === (channelId === undefined)) {
      throw new SubstratError('bad_request', 'Set exactly one of `recipient` and `channelId`.');
    }
    if (channelId !== undefined) {
      if (sync !== undefined) {
        throw new SubstratError(
          'bad_request',
          '`sync` requires `recipient`; messages in a channel do not expect a reply.',
        );
      }
      const channel = await resolveChannel(tx, agent, channelId, now);
      const speaker = { id: agent.id, handle: agent.handle, run, held };
      const said = await speak(tx, settings.rules, speaker, channel, { text, thread: inReplyTo }, now);
      return { ...outcomeOf({ messageId: said.messageId }, said), ...(await claim(context, said.messageId, evidence)) };
    }
    const message = { recipient: recipient as string, text, sync, inReplyTo };
    const sent = await send(tx, settings.rules, { agent, run, held }, message, now);
    const state = await stateOf(tx, agent, recipient as string);
    const result = { status: 'sent', message_id: sent.messageId, waiting_for_reply: sent.waiting };
    const outcome = outcomeOf(state === null ? result : { ...result, recipient_state: state }, sent);
    return { ...outcome, ...(await claim(context, sent.messageId, evidence)) };
  },
});

/** Why the recipient takes no turn for now. */
async function stateOf(tx: ToolContext['tx'], agent: Agent, name: string): Promise<'paused' | 'gated' | null> {
  const nameKey = keyOf(name);
  const to = await tx.agents.getNeighbour({ id: agent.id, parentId: agent.parentId ?? '', nameKey });
  return to && heldState(to);
}

/** The result for a message, with the request that it answered. */
function outcomeOf(result: Record<string, unknown>, sent: Answered | Unanswered): ToolOutcome {
  if (sent.answered === null) return { result };
  const { answered, late } = sent;
  return { result: { ...result, answered, ...(late && { late }) }, reply: true, settled: answered };
}

export const broadcastTool = defineTool({
  name: 'broadcast',
  description:
    'Send a message to all siblings in your team. Replies arrive as separate messages, one per respondent, all together when everyone has ' +
    'ended their turn or after one minute, with a list of those who did not reply.',
  input: z.strictObject({ text: textField('Message body.') }),
  effect: true,
  run: async ({ tx, agent, run, settings, now }, { text }) => {
    const { messageId, recipients } = await broadcast(tx, settings.rules, { agent, run }, text, now);
    return { result: { status: 'sent', message_id: messageId, recipient_count: recipients } };
  },
});

export const checkInbox = defineTool({
  name: 'check_inbox',
  description:
    'Retrieve pending async messages (notifications, unsolicited messages). Replies to your sync messages are not included; they arrive as your next message.',
  externalDescription:
    'Retrieve your pending messages: requests, replies to your sync messages, and notifications. Each message has a `kind`. Answer a ' +
    'request with send_message to its sender, with `in_reply_to` set to its message_id. Call this when you begin, after each piece of work, ' +
    'and when a tool result says that messages are waiting. Do not call it in a loop.',
  input: z.strictObject({
    sender: referenceField('Only messages from this agent or person; the others stay.').optional(),
    kind: z
      .enum(['request', 'reply', 'error', 'late', 'news', 'notice'])
      .optional()
      .describe('Only messages of this kind; the others stay.'),
  }),
  refers: referring({ sender: name }),
  effect: false,
  // It marks what it returns as read.
  annotations: { readOnlyHint: false },
  run: async (context, { sender, kind }) => {
    const { tx, run, attempt } = context;
    const isWanted = (one: SizedDelivery) =>
      (sender === undefined ||
        [one.authorHandle, one.authorName ?? ''].some((name) => keyOf(name) === keyOf(sender))) &&
      (kind === undefined || kindOf(one) === kind);
    if (attempt.external) await acknowledgeGiven(context);
    const taken = await giveNews(tx, run, (pending) =>
      takeMatching(attempt.external ? pending : chooseNews(pending), isWanted),
    );
    const given = taken.filter(({ requestState }) => requestState === 'open').map(({ messageId }) => messageId);
    const claimed = await tx.evidence.listEvidence({ messageIds: taken.map(({ messageId }) => messageId) });
    const messages = taken.map((one) => {
      const evidence = claimed.filter(({ messageId }) => messageId === one.messageId).map(evidenceText);
      return { ...(attempt.external ? fullEntry(one) : entry(one)), ...(evidence.length > 0 && { evidence }) };
    });
    return { result: { messages }, given };
  },
});

export const listAgents = defineTool({
  name: 'list_agents',
  description: 'List the agents you can reach: your parent, your children and your siblings.',
  input: z.strictObject({}),
  effect: false,
  run: async ({ tx, agent }) => {
    const agents = (await tx.agents.listNeighbours(agent)).map((neighbour) => ({
      name: neighbour.name,
      agent_id: neighbour.id,
      role: neighbour.role,
      state: agentState(neighbour),
      relation: neighbour.id === agent.parentId ? 'parent' : neighbour.parentId === agent.id ? 'child' : 'sibling',
      pending: neighbour.pending,
      ...(Object.keys(neighbour.metadata).length > 0 && { metadata: neighbour.metadata }),
    }));
    return { result: { agents } };
  },
});

export const complete = defineTool({
  name: 'complete',
  description:
    'Report your result to your parent and terminate after this turn. Only for agents without children. You cannot receive messages afterwards.',
  input: z.strictObject({ result: textField('The result for your parent.'), evidence: evidenceField }),
  effect: true,
  mayReply: true,
  run: async (context, { result, evidence }) => {
    const { tx, agent } = context;
    if ((await tx.agents.countChildren({ id: agent.id })) > 0) {
      throw new SubstratError('has_children', 'You have children. An agent with children cannot complete.');
    }
    const sent = await handOver(context, result);
    await tx.agents.setCompleting({ id: agent.id });
    const outcome = outcomeOf({ status: 'completing', message_id: sent.messageId }, sent);
    return { ...outcome, ...(await claim(context, sent.messageId, evidence)) };
  },
});

/**
 * Answers the parent (for a root, the owner): the request being served, otherwise the oldest one, otherwise sends
 * news.
 */
async function handOver(context: ToolContext, text: string): Promise<Answered | Unanswered> {
  const { tx, agent, run, now, settings } = context;
  const asked = await tx.requests.listOpenRequestsTo({ recipientId: agent.id });
  const byParent = asked.filter((request) => request.askerId === (agent.parentId ?? USER_ID));
  const request = byParent.find((one) => one.messageId === run.serves) ?? byParent[0];
  if (request) return reply(tx, request, { run, text }, now);
  const parent = agent.parentId && (await tx.agents.getAgent({ id: agent.parentId }));
  const recipient = parent ? parent.name : USER;
  return send(tx, settings.rules, { agent, run }, { recipient, text, sync: false }, now);
}

/** Asking for more acknowledges what was returned before; requests stay until they are answered. */
async function acknowledgeGiven({ tx, agent, run }: ToolContext): Promise<void> {
  for (const given of await tx.deliveries.listCarried({ runId: run.id })) {
    if (given.requestState !== 'open') {
      await tx.deliveries.acknowledgeDelivery({ messageId: given.messageId, agentId: agent.id });
    }
  }
}

function entry(delivery: DeliveryView) {
  const { from, text, id } = toCarriedMessage(delivery);
  return { from, text, message_id: id };
}

function fullEntry(delivery: DeliveryView) {
  const { kind, inReplyTo } = toCarriedMessage(delivery);
  return { ...entry(delivery), kind, ...(inReplyTo && { in_reply_to: inReplyTo }) };
}
