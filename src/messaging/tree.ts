import type { Agent, AgentState } from '../core/agent.ts';
import { checkName, keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { checkLine } from '../core/line.ts';
import type { PersonaChoice } from '../core/persona.ts';
import { settled } from '../core/question.ts';
import { expandScope, isInScope, narrow, type Scope } from '../core/scope.ts';
import { settleBroadcasts } from './broadcasts.ts';
import { joinTeam } from './channels.ts';
import { closeRequest, releaseDeadlines } from './closing.ts';
import { withdrawQuestion } from './owner-questions.ts';
import { dropReminders } from './reminders.ts';
import { answer } from './replies.ts';
import { endTurns } from './rounds.ts';
import { endSubscriptions, lastState } from './subscriptions.ts';
import type { Tx } from './tx.ts';

export interface TreeLimits {
  readonly maxChildren: number;
  readonly maxDepth: number;
  readonly maxAgents: number;
  /** How many tokens a new tree may use on its first day; 0: any number. */
  readonly firstDayTokens?: number;
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
  readonly maySpawn?: readonly string[] | null | undefined;
  readonly fallback?: readonly string[] | null | undefined;
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
  if (owner) refuseTaken(name, owner);
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
    maySpawn: wanted.maySpawn ?? null,
    fallback: wanted.fallback ?? null,
    workspace: wanted.workspace,
    workspaceId: wanted.workspaceId,
    tools: await scopeWithin(tx, parent, wanted.tools),
    persona: wanted.persona?.name ?? null,
    personaArgs: wanted.persona?.arguments ?? null,
    revision: 1,
    nodeId: wanted.nodeId,
    spawnedBy: wanted.spawnedBy,
    ready: wanted.spawnedBy === null,
    completing: false,
    account: '',
    actingProvider: null,
    actingModel: null,
    actingAccount: '',
    seatNew: false,
    restUntil: 0,
    rests: 0,
    restTold: false,
    pausedAt: null,
    pausedReason: null,
    gatedAt: null,
    permitted: false,
    gateTold: false,
    metadata: {},
    createdAt: now,
    terminatedAt: null,
  };
  await tx.agents.insertAgent(agent);
  if (!parent && limits.firstDayTokens) await limitFirstDay(tx, id, limits.firstDayTokens, now);
  if (parent) await joinTeam(tx, parent, id, now);
  await tx.events.appendEvent({
    type: 'agent_created',
    at: now,
    agentId: id,
    data: { agentId: id, name, handle: agent.handle, parentId: agent.parentId },
  });
  return agent;
}

export interface Terminated {
  readonly fenced: readonly string[];
  readonly closed: readonly string[];
}

/**
 * Terminates an agent and its subtree in one transaction: its runs are fenced, its deliveries die, requests to it are
 * answered with an error, requests from it are closed. Requests of the agent `by` that terminates it are only closed: it knows. Returns
 * the fenced runs, whose processes must be killed, and these requests.
 */
export async function terminateAgent(
  tx: Tx,
  agent: Agent,
  reason: string,
  now: number,
  by: string | null = null,
): Promise<Terminated> {
  const doomed = await tx.agents.listSubtree({ id: agent.id });
  const fenced: string[] = [];
  const closed: string[] = [];
  const states = new Map<string, AgentState | null>();
  // First terminate all, then answer: an answer to an agent of the same subtree must not wake it.
  for (const { id } of doomed) {
    const run = await tx.runs.getLiveRun({ agentId: id });
    states.set(id, await lastState(tx, id, run));
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
      if (run.budgetId !== null) await releaseDeadlines(tx, run.serves, now);
    }
    await tx.deliveries.killDeliveriesTo({ agentId: id });
    await dropReminders(tx, id);
    await tx.questions.dropGrants({ agentId: id });
    await tx.agents.setTerminated({ id, at: now });
    await endTurns(tx, id, now);
    await tx.events.appendEvent({ type: 'agent_terminated', at: now, agentId: id, data: { agentId: id, reason } });
  }
  for (const { id, handle } of doomed) {
    for (const request of await tx.requests.listOpenRequestsFrom({ askerId: id })) {
      await closeRequest(tx, request, settled('cancelled', { note: reason }), now);
      await tx.deliveries.killPendingDelivery({ messageId: request.messageId });
    }
    for (const request of await tx.requests.listOpenRequestsTo({ recipientId: id })) {
      if (request.askerId === by) {
        await closeRequest(tx, request, settled('cancelled', { note: reason }), now);
        closed.push(request.messageId);
        continue;
      }
      const text = `${handle} was terminated before it answered.`;
      await answer(tx, request, { run: null, text, kind: 'error' }, now);
    }
    await settleBroadcasts(tx, id, now);
    await withdrawBudgetQuestions(tx, id, now);
    await endSubscriptions(tx, id, states.get(id) ?? null, now);
  }
  return { fenced, closed };
}

/** An unset budget is not infinite: a new tree stops and asks if it uses very much on its first day. */
async function limitFirstDay(tx: Tx, treeId: string, amount: number, now: number): Promise<void> {
  const decided = { raised: 0, raisedIn: null, warnedIn: null, askedIn: null, stoppedIn: null, questionId: null };
  const what = { scope: 'subtree', unit: 'tokens', period: 'first_day', timeZone: 'UTC', origin: 'default' } as const;
  const expiresAt = now + 24 * 3_600_000;
  const budget = { id: newId(), subjectId: treeId, treeId, amount, expiresAt, createdAt: now };
  await tx.budgets.setBudget({ ...budget, ...what, ...decided });
}

/** Nobody needs an answer about the budget of an agent that has ended. */
async function withdrawBudgetQuestions(tx: Tx, agentId: string, now: number): Promise<void> {
  for (const { id, questionId } of await tx.budgets.listBudgetsAbout({ subjectId: agentId })) {
    if (questionId === null) continue;
    await withdrawQuestion(tx, questionId, 'its agent was terminated', now);
    await tx.budgets.forgetQuestion({ id });
  }
}

/** A child's scope is always within its parent's effective scope. */
async function scopeWithin(tx: Tx, parent: Agent | null, tools: readonly string[] | null): Promise<Scope> {
  const allowed = parent && narrow(parent.tools, await tx.agents.getScope({ id: parent.id }));
  if (!tools) return allowed;
  const wanted = expandScope(tools);
  // A root has nobody whose scope could limit it.
  const beyond = parent === null ? [] : wanted.filter((tool) => !isInScope(allowed, tool));
  if (beyond.length > 0) {
    throw new SubstratError(
      'forbidden',
      `A child cannot have tools that its parent does not have: ${beyond.join(', ')}.`,
    );
  }
  return wanted;
}

export function refuseTaken(name: string, owner: Agent): never {
  const former = owner.nameKey === keyOf(name) ? '' : ' It was its name before, and still leads to it.';
  const message = `The name "${name}" is already used by the agent ${owner.id} (${owner.handle}).${former}`;
  throw new SubstratError('name_taken', message);
}

/** The agent that has, or had, that name within one hop of the new agent or its parent. */
export async function nameOwner(tx: Tx, parent: Agent | null, nameKey: string): Promise<Agent | null> {
  if (!parent) return tx.agents.getRootByName({ nameKey });
  if (parent.nameKey === nameKey || (await wasNamed(tx, parent, nameKey))) return parent;
  return tx.agents.getNeighbour({ id: parent.id, parentId: parent.parentId ?? '', nameKey });
}

async function wasNamed(tx: Tx, { id: agentId, revision }: Agent, nameKey: string): Promise<boolean> {
  if (revision === 1) return false;
  return (await tx.settings.listFormerNames({ agentId })).some((former) => former.nameKey === nameKey);
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
