import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Agent } from '../core/agent.ts';
import { USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { withinScope } from '../core/persona.ts';
import { type Settings, settingsOf } from '../core/settings.ts';
import type { AgentChange, ChangeOptions } from '../http/api.ts';
import type { Tx } from '../store/store.ts';
import { checkScope } from '../tools/catalog.ts';
import { makeWorkspace } from '../workspaces/directories.ts';
import { ownWorkplace, takeWorkplace } from '../workspaces/workplace.ts';
import { type AgentMaking, checkChoice, checkProvider, runnerOfPrograms } from './agents.ts';
import type { SettingsChanged } from './change-settings.ts';
import type { Teamwork } from './teamwork.ts';

export interface Changing extends AgentMaking {
  readonly teamwork: Pick<Teamwork, 'changeSettings'>;
  /** Lets a node, this or another one, look at the agents again. */
  readonly tell: (nodeId: string, agentIds: readonly string[]) => Promise<void>;
}

/** What is written in the same transaction, given the new settings. */
export type Alongside = (tx: Tx, after: Settings) => Promise<void>;

/** Changes settings of an agent for a person. What is not in the wish stays. */
export async function changeAgent(
  changing: Changing,
  agentId: string,
  wish: AgentChange,
  { expected, now }: ChangeOptions,
  alongside: Alongside = async () => {},
): Promise<SettingsChanged> {
  const { home, tools, teamwork, tell, store } = changing;
  const { workspace } = wish;
  const undo = workspace !== undefined && isAbsolute(workspace) ? await makeWorkspace(workspace) : async () => {};
  const change = await preparedChange(changing, agentId, wish).catch(async (error: unknown) => {
    await undo();
    throw error;
  });
  const done = await teamwork
    .changeSettings(agentId, {
      change: async (tx, agent) => {
        const changed = await change(tx, agent);
        await alongside(tx, { ...settingsOf(agent), ...changed });
        return changed;
      },
      expected,
      by: USER_ID,
      interrupt: now,
    })
    .catch(async (error: unknown) => {
      await undo();
      throw error;
    });
  const { nodeId, workspaceId } = done.agent;
  if (done.changed.includes('workspace') && workspaceId !== null) {
    const workplace = await store.read((tx) => tx.workspaces.getWorkspace({ id: workspaceId }));
    if (workplace) await tools.onWorkspaceChanged(workplace);
  }
  const isElsewhere = nodeId !== home.nodeId && done.interrupted !== null;
  if (done.doorChanged || isElsewhere) await tell(nodeId, [agentId]);
  return done;
}

/** Checks what is outside the store, and returns the rest of the work. */
async function preparedChange(changing: Changing, agentId: string, wish: AgentChange) {
  const { customTools, findPersona, checkTools, checkEnforced } = changing.tools.settings;
  const custom = await customTools();
  for (const list of [wish.maySpawn, wish.fallback]) for (const choice of list ?? []) checkChoice(changing, choice);
  if (wish.tools) {
    const names = [...custom, ...changing.config.tools].map(({ name }) => name);
    checkScope(wish.tools, names);
  }
  const now = await changing.store.read((tx) => tx.agents.getAgent({ id: agentId }));
  const named = wish.persona === undefined && wish.arguments !== undefined ? now?.persona : wish.persona;
  if (wish.arguments !== undefined && !named) {
    throw new SubstratError('bad_request', '`arguments` must be used with a persona, and the agent has none.');
  }
  const choice = named ? { name: named, arguments: wish.arguments ?? {} } : null;
  const declared = choice && (await findPersona(choice));
  return async (tx: Tx, agent: Agent): Promise<Partial<Settings>> => {
    const persona = choice && {
      persona: declared?.name ?? choice.name,
      personaArgs: choice.arguments,
      // A persona brings its tools, as for a new agent.
      ...(declared &&
        wish.persona !== undefined && { tools: withinScope(declared.tools, await parentScope(tx, agent)) }),
    };
    const change: Partial<Settings> = {
      ...given('name', wish.name),
      ...given('role', wish.role),
      ...given('instructions', wish.instructions),
      ...given('model', wish.model),
      ...given('maySpawn', wish.maySpawn),
      ...given('fallback', wish.fallback),
      ...execution(changing, wish, agent),
      ...(wish.persona === null && { persona: null, personaArgs: null }),
      ...persona,
      ...given('tools', wish.tools),
      ...(await workplaceFor(changing, tx, wish.workspace, agent)),
    };
    if (change.provider !== undefined || change.tools !== undefined || change.workspace !== undefined) {
      await checkTools({ ...agent, ...change }, custom);
    }
    if (change.provider !== undefined || change.fallback !== undefined || change.persona !== undefined) {
      await checkEnforced(tx, { ...agent, ...change });
    }
    return change;
  };
}

function given<Name extends keyof Settings>(name: Name, value: Settings[Name] | undefined): Partial<Settings> {
  return value === undefined ? {} : { [name]: value };
}

/** A program implies its provider, as for a new agent. */
function execution(changing: Changing, wish: AgentChange, agent: Agent): Partial<Settings> {
  if (wish.provider === undefined && wish.program === undefined) return {};
  const runner = wish.program ? runnerOfPrograms : null;
  const provider = wish.provider ?? runner ?? agent.provider;
  const program = wish.program === undefined ? agent.program : wish.program;
  checkProvider(changing, provider, program);
  return { provider, program: program !== null && existsSync(program) ? realpathSync(program) : program };
}

/** Another workspace is another path, so the next turn begins a new session. */
async function workplaceFor(
  { tools, clock }: Changing,
  tx: Tx,
  wanted: string | undefined,
  agent: Agent,
): Promise<Partial<Settings>> {
  if (wanted === undefined) return {};
  const parent = agent.parentId === null ? null : await tx.agents.getAgent({ id: agent.parentId });
  const workspace = isAbsolute(wanted) ? realpathSync(wanted) : wanted;
  if (workspace === agent.workspace) return {};
  const workplace = await takeWorkplace(
    tx,
    tools.settings.workspaces,
    { agentId: newId(), parent, workspace },
    clock(),
  );
  if (workplace.own) await ownWorkplace(tx, agent, workplace.workspaceId);
  return { workspace: workplace.path, workspaceId: workplace.workspaceId };
}

async function parentScope(tx: Tx, { parentId }: Agent) {
  return parentId === null ? null : tx.agents.getScope({ id: parentId });
}
