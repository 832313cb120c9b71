import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import { agentState, keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { RunRecord } from '../core/run.ts';
import { agentStatus, showStatus } from '../core/status.ts';
import { shorten } from '../core/text.ts';
import { resolveChannel, seesChannel } from '../messaging/channels.ts';
import { toCarriedMessage } from '../runs/start.ts';
import type { AgentView, Tx } from '../store/store.ts';
import { child, referring } from './references.ts';
import { defineTool, referenceField } from './tool.ts';

const RECENT = 20;
const SHORT = 300;
const BLANK = '[not shown: a conversation you are not part of]';
const PRIVATE = '[not shown: its memory]';
const MEMORY_TOOLS = new Set(['update_memory', 'search_memory', 'store_memory', 'search_messages']);

export const inspectAgent = defineTool({
  name: 'inspect_agent',
  description: "View a subordinate's recent activity: the state of one of your children and its recent messages.",
  input: z.strictObject({ name: referenceField('Name of your child.') }),
  refers: referring({ name: child }),
  effect: false,
  run: async ({ tx, agent, now }, { name }) => {
    const neighbour = await tx.agents.getNeighbour({ id: agent.id, parentId: '', nameKey: keyOf(name) });
    const view = neighbour && (await tx.agents.getAgentView({ id: neighbour.id }));
    if (!view) throw new SubstratError('not_found', `"${shorten(name)}" is not one of your children.`);
    const records = (await tx.records.listRecentRecords({ agentId: view.id, limit: RECENT })).reverse();
    const recent_messages = [];
    for (const row of records) recent_messages.push(await shown(tx, agent, view, row));
    return {
      result: {
        state: agentState(view),
        recent_messages,
        current: await currentRun(tx, view.id, records),
        usage: await tx.runs.getUsage({ agentId: view.id }),
        status: statusFor(view, now),
        pending: view.pending,
        metadata: view.metadata,
        children: (await tx.agents.listChildren({ id: view.id })).map((one) => one.name),
      },
    };
  },
});

function statusFor(view: AgentView, now: number) {
  const status = showStatus(agentStatus(view, now));
  return status && { ...status, reason: status.reason && shorten(status.reason, SHORT) };
}

async function currentRun(tx: Tx, agentId: string, records: readonly RunRecord[]) {
  const run = await tx.runs.getLiveRun({ agentId });
  if (run?.state !== 'running') return null;
  const own = records.filter((row) => row.runId === run.id);
  return {
    run: run.id,
    step: own.at(-1)?.step ?? 0,
    last_tool: own.findLast((row) => row.tool !== null)?.tool ?? null,
    since: new Date(run.startedAt ?? run.createdAt).toISOString(),
  };
}

/** One line of the record, shortened, without the messages of conversations that the caller is not part of. */
async function shown(tx: Tx, caller: Agent, inspected: Agent, row: RunRecord) {
  const text = await textOf(tx, caller, inspected, row);
  return {
    type: row.type,
    ...(row.tool && { tool: row.tool }),
    text: shorten(text, SHORT),
    at: new Date(row.createdAt).toISOString(),
  };
}

async function textOf(tx: Tx, caller: Agent, inspected: Agent, row: RunRecord): Promise<string> {
  const { content } = row;
  switch (row.type) {
    case 'user_message':
      return promptFor(tx, caller, row.runId);
    case 'assistant_message':
      return (await isPosted(tx, caller, row, content)) ? BLANK : String(content);
    // The full system message contains the agent's memory.
    case 'system_message':
      return inspected.instructions;
    default:
      return toolText(tx, caller, inspected, row, content);
  }
}

async function seesIt(tx: Tx, caller: Agent, channelId: string): Promise<boolean> {
  const channel = await tx.channels.getChannel({ id: channelId });
  return channel !== null && seesChannel(tx, caller.id, channel);
}

async function promptFor(tx: Tx, caller: Agent, runId: string): Promise<string> {
  const lines: string[] = [];
  for (const delivery of await tx.deliveries.listDeliveriesOfRun({ runId })) {
    const { from, text } = toCarriedMessage(delivery);
    const visible = await seesIt(tx, caller, delivery.channelId);
    lines.push(`${from}: ${visible ? text : BLANK}`);
  }
  return lines.join('\n');
}

/** Whether it is the final text that answered a conversation that the caller is not part of. */
async function isPosted(tx: Tx, caller: Agent, row: RunRecord, content: unknown): Promise<boolean> {
  const run = await tx.runs.getRun({ id: row.runId });
  if (!run?.serves || run.finalText !== content) return false;
  const request = await tx.messages.getMessage({ id: run.serves });
  return request !== null && !(await seesIt(tx, caller, request.channelId));
}

/** Matches inbox messages by id, because a name or handle in the text could be somebody else's. */
async function inboxFor(tx: Tx, caller: Agent, content: unknown): Promise<string> {
  const { messages } = content as { messages: readonly { readonly message_id: string }[] };
  const shownTo = messages.map(async (entry) => {
    const message = await tx.messages.getMessage({ id: entry.message_id });
    return message && (await seesIt(tx, caller, message.channelId)) ? entry : { ...entry, text: BLANK };
  });
  return JSON.stringify({ messages: await Promise.all(shownTo) });
}

/**
 * A call or its result: shows only text that was said to or by the caller, to the team it leads, or in a channel it
 * sees.
 */
async function toolText(tx: Tx, caller: Agent, inspected: Agent, row: RunRecord, content: unknown): Promise<string> {
  if (MEMORY_TOOLS.has(row.tool ?? '')) return PRIVATE;
  if (row.tool === 'broadcast' || (await inSeenChannel(tx, caller, inspected, row, content))) {
    return JSON.stringify(content);
  }
  if (row.tool === 'check_inbox' && row.type === 'tool_return_message' && !row.isError) {
    return inboxFor(tx, caller, content);
  }
  return JSON.stringify(content, function (this: Record<string, unknown>, key, value: unknown) {
    const { recipient } = this;
    const withCaller =
      row.tool === 'send_message' && typeof recipient === 'string' && keyOf(recipient) === caller.nameKey;
    return key === 'text' && typeof value === 'string' && !withCaller ? BLANK : value;
  });
}

/** The channel is in the call; a result belongs to its call. */
async function inSeenChannel(
  tx: Tx,
  caller: Agent,
  inspected: Agent,
  row: RunRecord,
  content: unknown,
): Promise<boolean> {
  if (row.tool !== 'send_message' && row.tool !== 'read_channel') return false;
  const call: unknown =
    row.type === 'tool_call_message'
      ? content
      : (await tx.records.getCall({ runId: row.runId, callId: row.callId ?? '' }))?.content;
  const channelId = (call as { channelId?: unknown } | null)?.channelId;
  if (typeof channelId !== 'string') return false;
  const channel = await resolveChannel(tx, inspected, channelId, null).catch(() => null);
  return channel !== null && seesChannel(tx, caller.id, channel);
}
