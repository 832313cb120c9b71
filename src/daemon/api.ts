import { join } from 'node:path';
import { withSecrets } from '../config/secrets.ts';
import { storeName } from '../config/store-name.ts';
import { describeLimits } from '../core/machine-limits.ts';
import type { PassageMeaning } from '../core/memory.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import { removeTree } from '../core/remove-tree.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Api, KnowledgeDoor } from '../http/api.ts';
import { deleteAgent } from '../messaging/deletion.ts';
import type { Provider } from '../providers/provider.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { AgentGit } from '../workspaces/agent-git.ts';
import { diffOf } from '../workspaces/diff.ts';
import { readInside } from '../workspaces/files.ts';
import { isInside } from '../workspaces/paths.ts';
import { filesOf } from '../workspaces/reach.ts';
import type { ConfiguredTeam } from './configured.ts';
import { createDoctor } from './doctor.ts';
import type { AgentDoors } from './doors.ts';
import { setDraining } from './drain.ts';
import type { LazyExtensions } from './lazy-extensions.ts';
import type { Elsewhere } from './live-elsewhere.ts';
import { readLogEntries } from './log-entries.ts';
import { moveAgent } from './moving.ts';
import type { Node } from './node.ts';
import type { NodeDesk } from './node-desk.ts';
import { adoptNode, findNode, listNodes, nodeNotices, removeNode } from './nodes.ts';
import { askPersona } from './personas.ts';
import { placeAgent } from './placement.ts';
import { createProviderList } from './provider-list.ts';
import type { Teamwork } from './teamwork.ts';
import type { Tidying } from './tidying.ts';
import type { Work } from './work.ts';

export interface ApiParts extends Node {
  readonly version: string;
  readonly tracer: Tracer | null;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly sandbox: Sandbox;
  readonly git: AgentGit;
  readonly work: Work;
  readonly teamwork: Teamwork;
  readonly doors: AgentDoors;
  readonly tidying: Tidying;
  readonly desk: NodeDesk;
  /** Lets a node, this or another one, look at agents again. */
  readonly tell: (nodeId: string, agentIds: readonly string[]) => Promise<void>;
  readonly elsewhere: Elsewhere;
  readonly extensions: LazyExtensions;
  readonly knowledgeDoor: KnowledgeDoor;
  readonly passageMeaning: PassageMeaning | null;
  /** Null before the start has reconciled the configuration. */
  readonly configured: () => ConfiguredTeam | null;
  /** Notices for the owner about this start. */
  readonly notices: readonly string[];
  /** The TCP address; null before the server listens. */
  readonly url: () => string | null;
}

/** The operations behind the HTTP API of this node. */
export function createApi(parts: ApiParts): Api {
  const { store, clock, config, home, log, version, tracer, knowledgeDoor, passageMeaning } = parts;
  const { providers, sandbox, git, work, teamwork, doors, tidying, extensions, desk } = parts;
  const { tools, scheduler } = teamwork;
  const { rules, workspaces } = tools.settings;
  const place = { store, home, clock, workspaces };
  const moving = { store, home, clock, config, tell: parts.tell };
  const listProviders = createProviderList({
    store,
    clock,
    home,
    config,
    providers,
    env: withSecrets(process.env, home.path),
  });
  return {
    store,
    clock,
    version,
    live: parts.elsewhere,
    home,
    config,
    rules,
    log,
    tracer,
    workspaces,
    knowledgeDoor,
    passageMeaning,
    status: async () => ({
      pid: process.pid,
      home: home.path,
      config: config.file,
      store: storeName(config.db),
      version,
      url: parts.url(),
      sandbox: sandbox.mode,
      sandboxProblem: await sandbox.problem(),
      limits: sandbox.mode === 'none' ? 'none' : describeLimits(config.sandbox.limits),
      commits: store.commits(),
      notices: [
        store.problem() ?? [],
        parts.notices,
        parts.configured()?.notices() ?? [],
        await nodeNotices(place).catch(() => []),
      ].flat(2),
    }),
    examine: createDoctor(home.path, config.file),
    readLog: (wish) => readLogEntries(join(home.path, 'daemon.log'), wish),
    nodeId: home.nodeId,
    askNode: (nodeId, call) => desk.ask(nodeId, call),
    listNodes: () => listNodes(place),
    listProviders,
    findNode: (reference) => findNode(place, reference),
    removeNode: (reference) => removeNode(place, reference),
    adoptNode: (wish) =>
      adoptNode(place, wish, {
        recover: (nodeId, afterwards) => teamwork.recover(nodeId, true, afterwards),
        open: async (agents) => {
          for (const agent of agents) await doors.prepare(agent);
          await doors.openExternal(agents.filter(({ provider }) => provider === EXTERNAL));
          await scheduler.tick();
        },
      }),
    placeAgent: (wish) => placeAgent({ store, home, clock, config }, wish),
    addAgent: async (wish, write) => {
      // Imported lazily: it loads every tool, and most starts do not create an agent.
      const { addAgent } = await import('./agents.ts');
      return addAgent({ store, home, config, clock, tools, providers, work }, wish, write);
    },
    readArguments: async (agentId, tool, args) => {
      const { readArguments } = await import('../tools/arguments.ts');
      return readArguments(tools.settings, store, agentId, tool, args);
    },
    apply: async (wish) => (await parts.configured()?.apply(wish)) ?? [],
    changeAgent: async (agentId, wish, options, alongside) => {
      const { changeAgent } = await import('./changing.ts');
      const changing = { store, home, config, clock, tools, providers, work, teamwork, tell: parts.tell };
      return changeAgent(changing, agentId, wish, options, alongside);
    },
    askPersona: (agent) => askPersona(extensions.personas, agent),
    settleWorkspace: tools.onWorkspaceChanged,
    terminateAgent: async (agentId, reason) => {
      const ended = await teamwork.terminateAgent(agentId, reason);
      for (const [nodeId, agents] of Map.groupBy(ended, (agent) => agent.nodeId)) {
        const ids = agents.map(({ id }) => id);
        if (nodeId !== home.nodeId) {
          await desk.tell(nodeId, ids);
          continue;
        }
        for (const id of ids) {
          await doors.closeExternal(id);
          tidying.begin(id);
        }
      }
    },
    deleteAgent: async (agentId) => {
      // Files first: after a crash the agent is still there, and can be deleted again.
      const family = await store.read((tx) => tx.deletions.listFamily({ id: agentId }));
      if (family[0] && family.every(({ terminatedAt }) => terminatedAt !== null)) {
        for (const { id } of family) await teamwork.scheduler.settled(id);
        await tidying.close();
        const here = family.filter(({ nodeId }) => nodeId === home.nodeId);
        for (const { id } of here) await removeTree(home.agentDirectory(id));
      }
      return store.write((tx) => deleteAgent(tx, agentId, clock()));
    },
    readFile: async (agent, path, offset) => {
      const { directory } = await store.read((tx) => filesOf(tx, workspaces, agent));
      return readInside(isInside(workspaces.home, directory) ? workspaces.home : '/', directory, path, offset);
    },
    diffAgent: async (agent) => {
      const { repository, base, ...files } = await store.read((tx) => filesOf(tx, workspaces, agent));
      const place = { ...files, agentDirectory: home.agentDirectory(agent.id) };
      return diffOf(git, place, { base, isWorktree: repository !== null });
    },
    moveAgent: (reference, wish) => moveAgent(moving, reference, wish),
    setDraining: (reference, draining) => setDraining(moving, reference, draining),
    pauseAgent: async (agentId, wish) => {
      const { agent, interrupted } = await teamwork.pauseAgent(agentId, wish);
      const isElsewhere = interrupted !== null && agent.nodeId !== home.nodeId;
      if (isElsewhere || (interrupted !== null && agent.provider === EXTERNAL))
        await parts.tell(agent.nodeId, [agentId]);
      return agent;
    },
    budgets: {
      list: teamwork.listBudgets,
      set: teamwork.setBudget,
      remove: teamwork.removeBudget,
      answer: teamwork.answerBudget,
    },
    resumeAgent: teamwork.resumeAgent,
    restartRun: async (runId) => {
      const agent = await teamwork.restartRun(runId);
      if (agent.nodeId !== home.nodeId || agent.provider === EXTERNAL) await parts.tell(agent.nodeId, [agent.id]);
    },
    extendRun: teamwork.extendRun,
    cancelRun: async (runId, reason) => {
      const agent = await teamwork.cancelRun(runId, reason);
      if (agent && agent.nodeId !== home.nodeId) return desk.tell(agent.nodeId, [agent.id]);
      if (agent) tidying.begin(agent.id);
      // The connected client belongs to the cancelled run. The next client to join opens another run.
      if (agent?.provider === EXTERNAL) {
        await doors.closeExternal(agent.id);
        await doors.openExternal([agent]);
      }
    },
  };
}
