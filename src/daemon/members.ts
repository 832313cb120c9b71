import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import { keyOf, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import { MAX_TEXT } from '../core/text.ts';
import type { AgentWish, WriteOnce } from '../http/api.ts';
import { writeBlock } from '../memory/blocks.ts';
import type { AgentView } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import type { Node, Stored } from './node.ts';

type Member = Config['members'][number];

export interface MemberMaking extends Pick<Node, 'store' | 'config' | 'clock'> {
  readonly tools: ToolDependencies;
  readonly addAgent: (wish: AgentWish, write: WriteOnce) => Promise<AgentView>;
}

export interface Members {
  /** Ids of the agents that this call created. */
  readonly made: ReadonlySet<string>;
  /** Members that could not be created, by the key of their name. */
  readonly missing: ReadonlyMap<string, Missing>;
}

export interface Missing {
  readonly name: string;
  /** The member with the problem: this one or an ancestor. */
  readonly because: string;
  readonly problem: string;
}

/**
 * Creates the agents of `[members.*]`, parents first. Existing agents do not change. A member whose persona cannot be
 * used is skipped with its descendants, so that an error in one script does not stop the others.
 */
export async function createMembers(making: MemberMaking, stored: Stored): Promise<Members> {
  const ids = new Map<string, string>();
  const made = new Set<string>();
  const missing = new Map<string, Missing>();
  for (const member of making.config.members) {
    const { name } = member;
    const nameKey = keyOf(name);
    const parentKey = member.parent === null ? null : keyOf(member.parent);
    const above = missing.get(parentKey ?? '');
    if (above) {
      missing.set(nameKey, { ...above, name });
      continue;
    }
    const parentId = parentKey === null ? null : (ids.get(parentKey) as string);
    const find = () =>
      making.store.read(async (tx) =>
        parentId === null
          ? tx.agents.getRootByName({ nameKey })
          : ((await tx.agents.listChildren({ id: parentId })).find((child) => child.nameKey === nameKey) ?? null),
      );
    const existing = await stored(find);
    const problem = existing ? null : await problemOf(making, member);
    if (problem !== null) {
      missing.set(nameKey, { name, because: name, problem });
      continue;
    }
    const make = async () => {
      const found = await find();
      // An earlier attempt created it although it reported an error.
      if (found) await making.tools.onAgentCreated(found);
      return found ?? create(making, member, parentId);
    };
    const agent = existing ?? (await stored(make));
    if (!existing) made.add(agent.id);
    ids.set(nameKey, agent.id);
  }
  return { made, missing };
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

/** Creates the agent and its blocks in one transaction, because an existing agent does not get blocks later. */
async function create(
  { store, config, clock, addAgent }: MemberMaking,
  member: Member,
  parent: string | null,
): Promise<AgentView> {
  const { instructionsFile, blocks, ...rest } = member;
  const instructions = instructionsFile
    ? readInstructions(config, member.name, instructionsFile)
    : (member.instructions ?? '');
  return addAgent({ ...rest, parent, worktree: false, instructions }, async (effect) => ({
    fresh: true,
    value: await store.write(async (tx) => {
      const agent = await effect(tx);
      for (const [label, text] of Object.entries(blocks)) {
        await writeBlock(tx, { readerId: agent.id, label, by: USER_ID, expected: null }, text, clock());
      }
      return agent;
    }),
  }));
}

/**
 * An agent may be able to write the file, such as AGENTS.md in its workspace. So a symlink may only lead into the
 * configuration's directory, or the file's own if it is elsewhere; not to any file that the daemon can read.
 */
function readInstructions(config: Config, name: string, path: string): string {
  const beside = config.file === null ? null : dirname(config.file);
  const within = beside !== null && path.startsWith(`${beside}/`) ? beside : dirname(path);
  try {
    return readRegularText(path, { maxBytes: MAX_TEXT, links: { within } });
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    const message = `[members.${name}] instructions_file: ${path} cannot be read: ${error.message}.`;
    throw new SubstratError('config', message, { cause: error });
  }
}
