import * as z from 'zod';
import { agentState, keyOf, shorten } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { toCarriedMessage } from '../runs/start.ts';
import type { AgentRow, RunMessageRow, Tx } from '../store/store.ts';
import { defineTool, referenceField } from './tool.ts';

const RECENT = 20;
const SHORT = 300;
const BLANK = '[not shown: a conversation that you are not part of]';

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
    for (const row of records) recent_messages.push(await shown(tx, agent, row));
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
async function shown(tx: Tx, caller: AgentRow, row: RunMessageRow) {
  const content = JSON.parse(row.content) as unknown;
  const text =
    row.type === 'user_message'
      ? await promptFor(tx, caller, row.run_id)
      : row.type === 'assistant_message'
        ? String(content)
        : toolText(caller, row, content);
  return {
    type: row.type,
    ...(row.tool && { tool: row.tool }),
    text: shorten(text, SHORT),
    at: new Date(row.created_at).toISOString(),
  };
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
  if (row.tool === 'broadcast') return JSON.stringify(content);
  return JSON.stringify(content, function (this: Record<string, unknown>, key, value) {
    const withCaller = [this.recipient, this.from].some(
      (who) => typeof who === 'string' && keyOf(who) === caller.name_key,
    );
    return key === 'text' && typeof value === 'string' && !withCaller ? BLANK : value;
  });
}
