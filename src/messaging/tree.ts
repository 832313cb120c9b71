import type { Agent } from '../core/agent.ts';
import { checkName, keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { checkLine } from '../core/line.ts';
import type { PersonaChoice } from '../core/persona.ts';
import { isInScope, narrow, type Scope } from '../core/scope.ts';
import { settleBroadcasts } from './broadcasts.ts';
import { joinTeam } from './channels.ts';
import { dropReminders } from './reminders.ts';
import { answer } from './replies.ts';
import { endTurns } from './rounds.ts';
import type { Tx } from './tx.ts';

export interface TreeLimits {
  readonly maxChildren: number;
  readonly maxDepth: number;
  readonly maxAgents: number;
}

export interface NewAgent {
  readonly id?: string;
  readonly name: string;
  readonly parent: Agent | null;
  readonly role: string;
  readonly instructions: string;
  readonly provider: string;
  readonly model: string | null;
  readonly program: string | null;
  readonly workspace: string;
  readonly workspaceId: string | null;
  /** Null: every tool that the parent has. */
  readonly tools: readonly string[] | null;
  readonly persona?: PersonaChoice | undefined;
  readonly nodeId: string;
  /** The run whose attempt must end before the agent may run; null: it may run immediately. */
  readonly spawnedBy: string | null;
}

/**
 * Adds an agent to a tree, or creates a tree. Names are unique within one hop; handles are globally unique and never
 * reused.
 */
export async function createAgent(tx: Tx, limits: TreeLimits, wanted: NewAgent, now: number): Promise<Agent> {
  const { parent, name } = wanted;
  checkName(name);
  checkLine('The role', wanted.role);
  checkLine('The model', wanted.model ?? '');
  const id = wanted.id ?? newId();
  const owner = await nameOwner(tx, parent, keyOf(name));
  if (owner) {
    throw new SubstratError(
      'name_taken',
      `The name "${name}" is already used by the agent ${owner.id} (${owner.handle}).`,
    );
  }
  if (parent) await checkCaps(tx, limits, parent);
  const agent: Agent = {
    id,
    treeId: parent?.treeId ?? id,
    parentId: parent?.id ?? null,
    depth: parent ? parent.depth + 1 : 0,
    name,
    nameKey: keyOf(name),
    handle: await freeHandle(tx, parent, name),
    role: wanted.role,
    instructions: wanted.instructions,
    provider: wanted.provider,
    model: wanted.model,
    program: wanted.program,
    workspace: wanted.workspace,
    workspaceId: wanted.workspaceId,
    tools: await scopeWithin(tx, parent, wanted.tools),
    persona: wanted.persona?.name ?? null,
    personaArgs: wanted.persona?.arguments ?? null,
    nodeId: wanted.nodeId,
    spawnedBy: wanted.spawnedBy,
    ready: wanted.spawnedBy === null,
    completing: false,
    restUntil: 0,
    rests: 0,
    pausedAt: null,
    pausedReason: null,
    createdAt: now,
    terminatedAt: null,
  };
  await tx.agents.insertAgent(agent);
  if (parent) await joinTeam(tx, parent, id, now);
  await tx.events.appendEvent({
    type: 'agent_created',
    at: now,
    agentId: id,
    data: { agentId: id, name, handle: agent.handle, parentId: agent.parentId },
  });
  return agent;
}

/**
 * Terminates an agent and its subtree in one transaction: its runs are fenced, its deliveries die, requests to it are
 * answered with an error, requests from it are closed. Returns the fenced runs, whose processes must be killed.
 */
export async function terminateAgent(tx: Tx, agent: Agent, reason: string, now: number): Promise<string[]> {
  const doomed = await tx.agents.listSubtree({ id: agent.id });
  const fenced: string[] = [];
  // First terminate all, then answer: an answer to an agent of the same subtree must not wake it.
  for (const { id } of doomed) {
    const run = await tx.runs.getLiveRun({ agentId: id });
    if (run) {
      await tx.runs.endRun({
        id: run.id,
        fence: run.fence,
        state: 'cancelled',
        stopReason: 'cancelled',
        error: reason,
        finalText: null,
        now,
      });
      fenced.push(run.id);
    }
    await tx.deliveries.killDeliveriesTo({ agentId: id });
    await dropReminders(tx, id);
    await tx.agents.setTerminated({ id, at: now });
    await endTurns(tx, id, now);
    await tx.events.appendEvent({ type: 'agent_terminated', at: now, agentId: id, data: { agentId: id, reason } });
  }
  for (const { id, handle } of doomed) {
    for (const request of await tx.requests.listOpenRequestsFrom({ askerId: id })) {
      await tx.requests.tryCloseRequest({ id: request.messageId, at: now });
      await tx.deliveries.killPendingDelivery({ messageId: request.messageId });
    }
    for (const request of await tx.requests.listOpenRequestsTo({ recipientId: id })) {
      const text = `${handle} was terminated before it answered.`;
      await answer(tx, request, { run: null, text, kind: 'error' }, now);
    }
    await settleBroadcasts(tx, id, now);
  }
  return fenced;
}

/** A child's scope is always within its parent's effective scope. */
async function scopeWithin(tx: Tx, parent: Agent | null, tools: readonly string[] | null): Promise<Scope> {
  const allowed = parent && narrow(parent.tools, await tx.agents.getScope({ id: parent.id }));
  if (!tools) return allowed;
  const beyond = tools.filter((tool) => !isInScope(allowed, tool));
  if (beyond.length > 0) {
    throw new SubstratError(
      'forbidden',
      `A child cannot have tools that its parent does not have: ${beyond.join(', ')}.`,
    );
  }
  return [...new Set(tools)];
}

/** The agent that already has that name within one hop of the new agent or its parent. */
async function nameOwner(tx: Tx, parent: Agent | null, nameKey: string): Promise<Agent | null> {
  if (!parent) return tx.agents.getRootByName({ nameKey });
  if (parent.nameKey === nameKey) return parent;
  return tx.agents.getNeighbour({ id: parent.id, parentId: parent.parentId ?? '', nameKey });
}

export async function freeHandle(tx: Tx, parent: Agent | null, name: string): Promise<string> {
  const taken = async (handle: string) => (await tx.participants.getParticipant({ handleKey: keyOf(handle) })) !== null;
  if (!(await taken(name))) return name;
  const long = parent ? `${parent.handle}.${name}` : name;
  for (let n = 1; ; n += 1) {
    const handle = n === 1 ? long : `${long}.${n}`;
    if (!(await taken(handle))) return handle;
  }
}

async function checkCaps(tx: Tx, limits: TreeLimits, parent: Agent): Promise<void> {
  const refuse = (what: string, key: string, cap: number) => {
    throw new SubstratError('cap_reached', `${what} (limits.${key} = ${cap}).`);
  };
  if (parent.depth + 1 > limits.maxDepth) refuse('The tree may not grow deeper', 'max_depth', limits.maxDepth);
  if ((await tx.agents.countChildren({ id: parent.id })) >= limits.maxChildren) {
    refuse(`${parent.handle} may not have more children`, 'max_children', limits.maxChildren);
  }
  if ((await tx.agents.countTree({ treeId: parent.treeId })) >= limits.maxAgents) {
    refuse('The tree may not have more agents', 'max_agents', limits.maxAgents);
  }
}
