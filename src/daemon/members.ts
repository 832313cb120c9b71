import type { Agent } from '../core/agent.ts';
import { keyOf } from '../core/agent.ts';
import type { Configured } from '../core/configured.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentWish, Api, ApplyItem, WriteOnce } from '../http/api.ts';
import type { AgentView, Tx } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import type { Alongside } from './changing.ts';
import { planBlocks, writeBlocks } from './member-blocks.ts';
import { baseline, currentFields, type Fields, fileFields, type Member, planFields } from './member-fields.ts';
import type { Node, Stored } from './node.ts';

export interface MemberMaking extends Pick<Node, 'store' | 'config' | 'clock'> {
  readonly tools: ToolDependencies;
  readonly addAgent: (wish: AgentWish, write: WriteOnce) => Promise<AgentView>;
  readonly changeAgent: Api['changeAgent'];
}

export interface ApplyMode {
  /** Only find out what would change. */
  readonly dryRun: boolean;
  /** Whether what exists may change; otherwise differences are only listed. */
  readonly changes: boolean;
  /** The file wins where people changed the same. */
  readonly force: boolean;
  /** Keys of ended members, and ids of deleted channels, to create again. */
  readonly recreate: ReadonlySet<string>;
}

export interface Members {
  /** Ids of the agents that this call created. */
  readonly made: ReadonlySet<string>;
  /** Living members, by the key of their name. */
  readonly ids: ReadonlyMap<string, string>;
  /** Members that could not be created, by the key of their name. */
  readonly missing: ReadonlyMap<string, Missing>;
  readonly items: readonly ApplyItem[];
}

export interface Missing {
  readonly name: string;
  /** The member with the problem: this one or an ancestor. */
  readonly because: string;
  readonly problem: string;
  /** It existed and ended; nothing that changes by itself brings it back. */
  readonly ended: boolean;
}

/** Enough for people who change the same agent meanwhile. */
const TRIES = 3;

/**
 * Makes the agents of `[members.*]` what the file says, parents first, each in one transaction. A member whose persona
 * cannot be used is skipped with its descendants, so that an error in one script does not stop the others. A member
 * that ended is not created again unless that is wanted.
 */
export async function reconcileMembers(making: MemberMaking, stored: Stored, mode: ApplyMode): Promise<Members> {
  const ids = new Map<string, string>();
  const made = new Set<string>();
  const missing = new Map<string, Missing>();
  const items: ApplyItem[] = [];
  for (const member of making.config.members) {
    const { name } = member;
    const key = keyOf(name);
    const parentKey = member.parent === null ? null : keyOf(member.parent);
    const above = missing.get(parentKey ?? '');
    const parentId = parentKey === null ? null : (ids.get(parentKey) ?? '');
    const note = (item: Omit<ApplyItem, 'kind' | 'name'>) => items.push({ kind: 'member', name, ...item });
    const skip = (problem: Omit<Missing, 'name'>) => {
      missing.set(key, { ...problem, name });
      note({ action: 'left', field: null, from: null, to: null, note: problem.problem });
    };
    const { row, agent } = await stored(() => making.store.read((tx) => find(tx, key, parentId)));
    if (agent && agent.terminatedAt === null) {
      ids.set(key, agent.id);
      for (const item of await changeMember(making, stored, mode, { member, agentId: agent.id })) note(item);
      continue;
    }
    if (above) {
      skip(above);
      continue;
    }
    if (row && !mode.recreate.has(key)) {
      const how = agent ? 'was terminated' : 'was deleted';
      const problem = `It ${how}. \`substrat apply --recreate ${name}\` creates it again.`;
      skip({ because: name, problem, ended: true });
      continue;
    }
    const problem = await problemOf(making, member);
    if (problem !== null) {
      skip({ because: name, problem, ended: false });
      continue;
    }
    note({ action: 'create', field: null, from: null, to: null, note: row ? 'again' : null });
    if (mode.dryRun) continue;
    const make = async () => {
      // An earlier attempt created it although it reported an error.
      const { agent: found } = await making.store.read((tx) => find(tx, key, parentId));
      if (found?.terminatedAt === null) await making.tools.onAgentCreated(found);
      return found?.terminatedAt === null ? found : create(making, member, parentId);
    };
    const agentId = await stored(make).then(
      ({ id }) => id,
      (error: unknown) => {
        if (!(error instanceof SubstratError) || error.code !== 'name_taken') throw error;
        skip({ because: name, problem: error.message, ended: false });
        return null;
      },
    );
    if (agentId === null) continue;
    made.add(agentId);
    ids.set(key, agentId);
  }
  return { made, ids, missing, items };
}

/** A member is found by its table's name, whatever the agent is called now; before it has one, by the agent's name. */
async function find(
  tx: Tx,
  key: string,
  parentId: string | null,
): Promise<{ row: Configured | null; agent: Agent | null }> {
  const row = await tx.configured.getConfigured({ kind: 'member', key });
  if (row) return { row, agent: row.agentId === null ? null : await tx.agents.getAgent({ id: row.agentId }) };
  const named =
    parentId === null
      ? await tx.agents.getRootByName({ nameKey: key })
      : ((await tx.agents.listChildren({ id: parentId })).find((child) => child.nameKey === key) ?? null);
  const others = await tx.configured.listConfigured({ kind: 'member' });
  const isFree = named?.nameKey === key && !others.some(({ agentId }) => agentId === named.id);
  return { row, agent: isFree ? named : null };
}

async function changeMember(
  making: MemberMaking,
  stored: Stored,
  mode: ApplyMode,
  of: { readonly member: Member; readonly agentId: string },
): Promise<readonly Omit<ApplyItem, 'kind' | 'name'>[]> {
  for (let n = 1; ; n += 1) {
    try {
      return await stored(() => tryChange(making, mode, of));
    } catch (error) {
      if (!(error instanceof SubstratError) || error.code === 'store' || error.code === 'config') throw error;
      if (error.code === 'precondition_failed' && n < TRIES) continue;
      return [{ action: 'left', field: null, from: null, to: null, note: error.message }];
    }
  }
}

async function tryChange(
  { store, config, clock, changeAgent, tools }: MemberMaking,
  { dryRun, changes, force }: ApplyMode,
  { member, agentId }: { readonly member: Member; readonly agentId: string },
) {
  const key = keyOf(member.name);
  const read = async (tx: Tx) => {
    const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
    const row = await tx.configured.getConfigured({ kind: 'member', key });
    const earlier = row?.applied ?? baseline(currentFields(agent));
    const blocks = await planBlocks(tx, agentId, member.blocks, earlier, row === null);
    return { agent, row, earlier, blocks };
  };
  const { agent, row, earlier, blocks } = await store.read(read);
  const isElsewhere = agent.nodeId !== tools.settings.nodeId;
  const file = fileFields(config, member);
  // Directories and programs are those of its node.
  const own = isElsewhere ? { ...file, program: null, workspace: null } : file;
  const plan = planFields(own, earlier, currentFields(agent), force);
  const fixed = { file: member.parent, value: null };
  const skipped = isElsewhere ? elsewhereItems(file, currentFields(agent), agent.nodeId) : [];
  const items = [...plan.items, ...blocks.items, ...parentItem(earlier.parent, fixed), ...skipped];
  const isDue = row === null || plan.isDue || blocks.items.length > 0 || earlier.parent === undefined;
  if (dryRun || !changes || !isDue) return items;
  const alongside: Alongside = async (tx, after) => {
    // Read again: the agent may have written a block meanwhile.
    const now = (await read(tx)).blocks;
    await writeBlocks(tx, agentId, now.texts, clock());
    const applied = { ...earlier, ...plan.applied(currentFields(after)), ...now.applied };
    const whole = { ...applied, parent: earlier.parent ?? fixed };
    await tx.configured.putConfigured({ kind: 'member', key, agentId, applied: whole, at: clock() });
  };
  await changeAgent(agentId, plan.change, { expected: [agent.revision], now: false }, alongside);
  return items;
}

/** A program and a workspace are paths of the agent's own node. */
function elsewhereItems(file: Fields, current: Fields, nodeId: string): Omit<ApplyItem, 'kind' | 'name'>[] {
  const note = `skipped: the agent is on the node ${nodeId}, whose paths are its own`;
  return (['program', 'workspace'] as const)
    .filter((field) => file[field] !== null && file[field] !== current[field])
    .map((field) => {
      return { action: 'left', field, from: current[field] as string | null, to: file[field] as string | null, note };
    });
}

function parentItem(
  earlier: { readonly file: unknown } | undefined,
  { file }: { readonly file: string | null },
): Omit<ApplyItem, 'kind' | 'name'>[] {
  if (earlier === undefined || earlier.file === file) return [];
  const note = 'an agent keeps its parent; terminate it and run `substrat apply --recreate`';
  return [{ action: 'left', field: 'parent', from: (earlier.file as string | null) ?? null, to: file, note }];
}

async function problemOf(making: MemberMaking, member: Member): Promise<string | null> {
  return (await placeProblem(making, member)) ?? personaProblem(making, member);
}

/** A member for another node is created there, by the same table in that node's configuration. */
async function placeProblem({ store, config, tools }: MemberMaking, member: Member): Promise<string | null> {
  const { nodeId: id } = tools.settings;
  const missing = member.labels.filter((label) => !config.node.labels.includes(label));
  if (missing.length > 0) return `It needs a node with the labels ${missing.join(', ')}.`;
  if (member.node === null || member.node === id) return null;
  const node = await store.read((tx) => tx.nodes.getNode({ id }));
  return node?.name === member.node ? null : `It belongs on the node ${member.node}, whose configuration creates it.`;
}

async function personaProblem({ tools }: MemberMaking, { persona, arguments: given }: Member): Promise<string | null> {
  if (persona === null) return null;
  try {
    await tools.settings.findPersona({ name: persona, arguments: given });
    return null;
  } catch (error) {
    if (error instanceof SubstratError) return error.message;
    throw error;
  }
}

/** Creates the agent, its blocks, and what was applied, in one transaction. */
async function create(
  { store, config, clock, addAgent }: MemberMaking,
  member: Member,
  parent: string | null,
): Promise<AgentView> {
  const { instructionsFile, blocks, ...rest } = member;
  const file = fileFields(config, member);
  const instructions = (file.instructions as string | null) ?? '';
  return addAgent({ ...rest, parent, worktree: false, clone: null, instructions }, async (effect) => ({
    fresh: true,
    value: await store.write(async (tx) => {
      const agent = await effect(tx);
      const planned = await planBlocks(tx, agent.id, blocks, {});
      await writeBlocks(tx, agent.id, planned.texts, clock());
      const current = currentFields(agent);
      const fields = Object.entries(file).map(([name, said]) => [name, { file: said, value: current[name] }]);
      const parentField = { file: member.parent, value: null };
      const applied = { ...Object.fromEntries(fields), ...planned.applied, parent: parentField };
      const key = keyOf(member.name);
      await tx.configured.putConfigured({ kind: 'member', key, agentId: agent.id, applied, at: clock() });
      return agent;
    }),
  }));
}
