import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { withSecrets } from '../config/secrets.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { withinScope } from '../core/persona.ts';
import { readChoice } from '../core/provider-choice.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Wip } from '../core/wip.ts';
import type { AgentWish, WriteOnce } from '../http/api.ts';
import { resolveReference } from '../messaging/reference.ts';
import { createAgent } from '../messaging/tree.ts';
import { described, PROVIDER_NAMES } from '../providers/described.ts';
import type { Provider } from '../providers/provider.ts';
import type { AgentView } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';
import { checkScope } from '../tools/catalog.ts';
import { makeSubdirectory, makeWorkspace } from '../workspaces/directories.ts';
import { isInside } from '../workspaces/paths.ts';
import { ownDirectory } from '../workspaces/reach.ts';
import { ownWorkplace, takeWorkplace, type Workplace } from '../workspaces/workplace.ts';
import type { Node } from './node.ts';
import { checkProgram } from './program-check.ts';
import { chooseProvider } from './provider-choice.ts';
import type { Work } from './work.ts';
import { makeClone, makeWorktree } from './worktrees.ts';

/** The provider that runs a user's own program. */
export const runnerOfPrograms = described.find((about) => 'runsOwnProgram' in about)?.name ?? null;

export interface AgentMaking extends Pick<Node, 'store' | 'home' | 'config' | 'clock'> {
  readonly tools: ToolDependencies;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly work: Pick<Work, 'clone'>;
}

/** Creates an agent for a person. Missing fields default to the parent's, then to the configuration's. */
export async function addAgent(making: AgentMaking, wish: AgentWish, write: WriteOnce): Promise<AgentView> {
  const { store, config, home, clock, tools } = making;
  const { workspaces, customTools, findPersona, checkTools, checkEnforced } = tools.settings;
  const custom = await customTools();
  const persona = wish.persona === null ? undefined : { name: wish.persona, arguments: wish.arguments };
  const declared = persona && (await findPersona(persona));
  // Configured tools count even if their script does not load now: it may load later.
  if (wish.tools)
    checkScope(
      wish.tools,
      [...custom, ...config.tools].map(({ name }) => name),
    );
  for (const list of [wish.maySpawn, wish.fallback]) for (const choice of list ?? []) checkChoice(making, choice);
  const usual =
    config.daemon.defaultProvider ?? chooseProvider(config, withSecrets(process.env, home.path), wish.model);
  const id = newId();
  const ground = await prepareGround(making, wish, id);
  const made = write(async (tx) => {
    const parent = wish.parent === null ? null : await resolveReference(tx, wish.parent);
    if (parent && parent.terminatedAt !== null) {
      throw new SubstratError('terminated', `${parent.handle} is terminated and cannot have children.`);
    }
    // A program implies its provider, whatever provider the parent has.
    const said = wish.provider ?? (wish.program === null ? null : runnerOfPrograms);
    const provider = said ?? parent?.provider ?? usual;
    const named = wish.program ?? parent?.program ?? null;
    checkProvider(making, provider, named);
    // Resolve symlinks: the sandbox does not follow them, because somebody could replace them.
    const program = named && existsSync(named) ? realpathSync(named) : named;
    const workplace =
      ground.workplace ??
      (await takeWorkplace(tx, workspaces, { agentId: id, parent, workspace: ground.path }, clock()));
    const scope = parent && (await tx.agents.getScope({ id: parent.id }));
    const agent = await createAgent(
      tx,
      config.limits,
      {
        id,
        name: wish.name,
        parent,
        role: wish.role ?? 'worker',
        instructions: wish.instructions,
        provider: provider as string,
        model: wish.model ?? parent?.model ?? null,
        program,
        maySpawn: wish.maySpawn,
        fallback: wish.fallback,
        workspace: workplace.path,
        workspaceId: workplace.workspaceId,
        tools: wish.tools ?? (declared ? withinScope(declared.tools, scope) : null),
        persona: persona && { ...persona, name: declared?.name ?? persona.name },
        nodeId: home.nodeId,
        spawnedBy: null,
      },
      clock(),
    );
    if (workplace.own) await ownWorkplace(tx, agent, workplace.workspaceId);
    if (ground.wip) await tx.wips.insertWip(ground.wip);
    const view = (await tx.agents.getAgentView({ id })) as AgentView;
    await checkTools(view, custom);
    await checkEnforced(tx, view);
    return view;
  });
  const { value: agent, fresh } = await made.catch(async (error: unknown) => {
    await ground.undo();
    throw error;
  });
  if (!fresh) {
    if (ground.workplace) await ground.undo();
    return agent;
  }
  const { workspaceId } = agent;
  const workspace =
    workspaceId === null ? null : await store.read((tx) => tx.workspaces.getWorkspace({ id: workspaceId }));
  if (workspace) await tools.onWorkspaceChanged(workspace);
  await tools.onAgentCreated(agent);
  return agent;
}

interface Ground {
  readonly path: string | null;
  /** The workplace in a worktree that was created for the agent. */
  readonly workplace: Workplace | null;
  readonly undo: () => Promise<void>;
  /** The clone in it. */
  readonly wip?: Wip;
}

/** Creates the directory that a person named, or a worktree of it, before the agent exists. */
async function prepareGround(making: AgentMaking, wish: AgentWish, id: string): Promise<Ground> {
  const { workspace } = wish;
  const { workspaces } = making.tools.settings;
  if (wish.clone !== null) return { path: null, ...(await makeClone({ ...making, workspaces }, wish.clone, wish, id)) };
  if (wish.worktree) return { path: null, ...(await makeWorktree({ ...making, workspaces }, wish, id)) };
  if (workspace === null || !isAbsolute(workspace)) return { path: workspace, workplace: null, undo: async () => {} };
  const inside = await insideParent(making, wish.parent, workspace);
  if (inside) {
    return { path: workspace, workplace: null, undo: await makeSubdirectory(inside.directory, inside.subdir) };
  }
  const undo = await makeWorkspace(workspace);
  return { path: realpathSync(workspace), workplace: null, undo };
}

/** A directory in the parent's git workspace, which has another path on this node than inside. */
async function insideParent({ store, tools }: AgentMaking, reference: string | null, workspace: string) {
  if (reference === null) return null;
  return store.read(async (tx) => {
    const parent = await resolveReference(tx, reference);
    const directory = await ownDirectory(tx, tools.settings.workspaces, parent);
    if (directory === parent.workspace || !isInside(parent.workspace, workspace)) return null;
    return { directory, subdir: relative(parent.workspace, workspace) };
  });
}

/** A provider that may run in place of another one. Its program may be installed later. */
export function checkChoice(making: AgentMaking, choice: string): void {
  const { provider } = readChoice(choice);
  if (provider === EXTERNAL) {
    throw new SubstratError('bad_request', `"${EXTERNAL}" cannot take over: nothing here runs its agents.`);
  }
  checkProvider(making, provider, null);
}

/** Throws if an agent cannot run with that provider and program. */
export function checkProvider(
  { config, providers }: AgentMaking,
  provider: string | null,
  program: string | null,
): void {
  if (provider === null) {
    throw new SubstratError(
      'bad_request',
      `No provider was found with a login. Set one (${PROVIDER_NAMES.join(', ')}) or a program for the agent, or \`[daemon] default_provider\` for all agents; \`substrat provider list\` shows what each one lacks.`,
    );
  }
  if (provider === EXTERNAL) return;
  if (!providers.has(provider)) {
    const known = [...providers.keys(), EXTERNAL].filter((name) => !name.includes('/')).join(', ');
    throw new SubstratError('unsupported', `There is no provider "${provider}". Providers: ${known}.`);
  }
  if (provider !== runnerOfPrograms) return;
  const command = program ?? config.providers[provider]?.command ?? null;
  if (command === null) {
    throw new SubstratError('bad_request', `A ${provider} agent needs a program: set --program FILE.`);
  }
  if (program !== null) checkProgram(program);
}
