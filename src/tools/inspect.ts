import * as z from 'zod';
import { agentState, keyOf, shorten } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { toCarriedMessage } from '../runs/start.ts';
import type { AgentRow, RunMessageRow, Tx } from '../store/store.ts';
import { defineTool, referenceField } from './tool.ts';

const RECENT = 20;
const SHORT = 300;
const BLANK = '[not shown: a conversation that you are not part of]';
const PRIVATE = '[not shown: its memory]';
const MEMORY_TOOLS = new Set(['update_memory', 'search_memory', 'store_memory']);

export const inspectAgent = defineTool({
  name: 'inspect_agent',
  description: 'See what one of your children is doing: its state and its recent activity.',
  input: z.strictObject({ name: referenceField('Name of your child.') }),
  effect: false,
  run: async ({ tx, agent }, { name }) => {
    const neighbour = await tx.getNeighbour({ id: agent.id, parentId: '', nameKey: keyOf(name) });
    const view = neighbour && (await tx.getAgentView({ id: neighbour.id }));
    if (!view) throw new SubstratError('not_found', `"${shorten(name)}" is not a child of yours.`);
    const records = (await tx.listRecentRecords({ agentId: view.id, limit: RECENT })).reverse();
    const recent_messages = [];
    for (const row of records) recent_messages.push(await shown(tx, agent, view, row));
    return {
      result: {
        state: agentState(view),
        recent_messages,
        current: await currentRun(tx, view.id, records),
        usage: await tx.getUsage({ agentId: view.id }),
        pending: view.pending,
        children: (await tx.listChildren({ id: view.id })).map((one) => one.name),
      },
    };
  },
});

async function currentRun(tx: Tx, agentId: string, records: readonly RunMessageRow[]) {
  const run = await tx.getLiveRun({ agentId });
  if (run?.state !== 'running') return null;
  const own = records.filter((row) => row.run_id === run.id);
  return {
    run: run.id,
    step: own.at(-1)?.step ?? 0,
    last_tool: own.findLast((row) => row.tool !== null)?.tool ?? null,
    since: new Date(run.started_at ?? run.created_at).toISOString(),
  };
}

/** One line of the record, shortened, with the words of conversations that the caller is not in left out. */
async function shown(tx: Tx, caller: AgentRow, inspected: AgentRow, row: RunMessageRow) {
  const text = await textOf(tx, caller, inspected, row);
  return {
    type: row.type,
    ...(row.tool && { tool: row.tool }),
    text: shorten(text, SHORT),
    at: new Date(row.created_at).toISOString(),
  };
}

async function textOf(tx: Tx, caller: AgentRow, inspected: AgentRow, row: RunMessageRow): Promise<string> {
  const content = JSON.parse(row.content) as unknown;
  switch (row.type) {
    case 'user_message':
      return promptFor(tx, caller, row.run_id);
    case 'assistant_message':
      return String(content);
    // Its memory stands in the whole of it.
    case 'system_message':
      return inspected.instructions;
    default:
      return toolText(caller, row, content);
  }
}

async function promptFor(tx: Tx, caller: AgentRow, runId: string): Promise<string> {
  const lines = [];
  for (const delivery of await tx.listDeliveriesOfRun({ runId })) {
    const { from, text } = toCarriedMessage(delivery);
    const visible = await tx.isMember({ channelId: delivery.channel_id, participantId: caller.id });
    lines.push(`${from}: ${visible ? text : BLANK}`);
  }
  return lines.join('\n');
}

/** A call or a result: of the texts in it, only what was said to or by the caller is shown, or to the team that it leads. */
function toolText(caller: AgentRow, row: RunMessageRow, content: unknown): string {
  if (MEMORY_TOOLS.has(row.tool ?? '')) return PRIVATE;
  if (row.tool === 'broadcast') return JSON.stringify(content);
  return JSON.stringify(content, function (this: Record<string, unknown>, key, value) {
    const withCaller = [this.recipient, this.from].some(
      (who) => typeof who === 'string' && keyOf(who) === caller.name_key,
    );
    return key === 'text' && typeof value === 'string' && !withCaller ? BLANK : value;
  });
}
