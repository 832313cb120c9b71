import type { Agent } from '../core/agent.ts';
import { checkName, keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { checkLine } from '../core/line.ts';
import { isInScope, type Scope } from '../core/scope.ts';
import { changedSettings, type Setting, type Settings, settingsOf } from '../core/settings.ts';
import { nameOwner, refuseTaken } from './tree.ts';
import type { Tx } from './tx.ts';

/**
 * Changes settings of a living agent and keeps the earlier ones. Its handle, memory and channels stay. Returns what
 * changed.
 */
export async function changeSettings(
  tx: Tx,
  agent: Agent,
  change: Partial<Settings>,
  by: string,
  now: number,
): Promise<Setting[]> {
  const { id: agentId, revision } = agent;
  if (agent.terminatedAt !== null) {
    throw new SubstratError('terminated', `${agent.handle} is terminated and cannot be changed.`);
  }
  const before = settingsOf(agent);
  const settings = { ...before, ...change };
  const changed = changedSettings(before, settings);
  if (changed.length === 0) return [];
  checkLine('The role', settings.role);
  checkLine('The model', settings.model ?? '');
  if (changed.includes('name')) await rename(tx, agent, settings.name);
  if (changed.includes('tools')) await checkWithin(tx, agent.parentId, settings.tools);
  if (revision === 1) {
    await tx.settings.insertRevision({ agentId, revision, settings: before, changedBy: null, at: agent.createdAt });
  }
  await tx.settings.changeSettings({ id: agentId, revision, settings });
  await tx.settings.insertRevision({ agentId, revision: revision + 1, settings, changedBy: by, at: now });
  // The id of a workspace is not something that people set.
  const shown = changed.filter((name) => name !== 'workspaceId');
  const data = { agentId, revision: revision + 1, changed: shown, by };
  await tx.events.appendEvent({ type: 'agent_updated', at: now, agentId, data });
  return shown;
}

/** The former name still leads to the agent, because others have it in their conversations. */
async function rename(tx: Tx, agent: Agent, name: string): Promise<void> {
  checkName(name);
  const nameKey = keyOf(name);
  if (nameKey === agent.nameKey) return;
  const { id, parentId } = agent;
  const parent = parentId === null ? null : await tx.agents.getAgent({ id: parentId });
  // The first is how a new agent there is checked; the second also finds its own children.
  const owners = [
    await nameOwner(tx, parent, nameKey),
    await tx.agents.getNeighbour({ id, parentId: parentId ?? '', nameKey }),
  ];
  for (const owner of owners) if (owner && owner.id !== id) refuseTaken(name, owner);
  await tx.settings.keepName({ agentId: id, nameKey: agent.nameKey });
}

/** Its effective scope is always within its parent's; naming more is a mistake. */
async function checkWithin(tx: Tx, parentId: string | null, tools: Scope): Promise<void> {
  const allowed = parentId === null ? null : await tx.agents.getScope({ id: parentId });
  const beyond = (tools ?? []).filter((tool) => !isInScope(allowed, tool));
  if (beyond.length === 0) return;
  const message = `A child cannot have tools that its parent does not have: ${beyond.join(', ')}.`;
  throw new SubstratError('forbidden', message);
}
