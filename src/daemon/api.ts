import { storeName } from '../config/store-name.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Api, KnowledgeDoor } from '../http/api.ts';
import type { Provider } from '../providers/provider.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { AgentDoors } from './doors.ts';
import type { LazyExtensions } from './lazy-extensions.ts';
import type { Node } from './node.ts';
import { adoptNode, findNode, listNodes, nodeNotices, removeNode } from './nodes.ts';
import { askPersona } from './personas.ts';
import type { Teamwork } from './teamwork.ts';
import type { Tidying } from './tidying.ts';

export interface ApiParts extends Node {
  readonly version: string;
  readonly tracer: Tracer | null;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly sandbox: Sandbox;
  readonly teamwork: Teamwork;
  readonly doors: AgentDoors;
  readonly tidying: Tidying;
  readonly extensions: LazyExtensions;
  readonly knowledgeDoor: KnowledgeDoor;
  /** Notices for the owner about this start. */
  readonly notices: readonly string[];
  /** The TCP address; null before the server listens. */
  readonly url: () => string | null;
}

/** The operations behind the HTTP API of this node. */
export function createApi(parts: ApiParts): Api {
  const { store, clock, config, home, log, version, tracer, knowledgeDoor } = parts;
  const { providers, sandbox, teamwork, doors, tidying, extensions } = parts;
  const { tools, scheduler } = teamwork;
  const { rules, workspaces } = tools.settings;
  const place = { store, home, clock, workspaces };
  return {
    store,
    clock,
    version,
    home,
    config,
    rules,
    log,
    tracer,
    workspaces,
    knowledgeDoor,
    status: async () => ({
      pid: process.pid,
      home: home.path,
      config: config.file,
      store: storeName(config.db),
      version,
      url: parts.url(),
      sandbox: sandbox.mode,
      sandboxProblem: await sandbox.problem(),
      commits: store.commits(),
      notices: [store.problem() ?? [], parts.notices, await nodeNotices(place).catch(() => [])].flat(2),
    }),
    listNodes: () => listNodes(place),
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
    addAgent: async (wish, write) => {
      // Imported lazily: it loads every tool, and most starts do not create an agent.
      const { addAgent } = await import('./agents.ts');
      return addAgent({ store, home, config, clock, tools, providers }, wish, write);
    },
    askPersona: (agent) => askPersona(extensions.personas, agent),
    settleWorkspace: tools.onWorkspaceChanged,
    terminateAgent: async (agentId, reason) => {
      for (const agent of await teamwork.terminateAgent(agentId, reason)) {
        await doors.closeExternal(agent.id);
        tidying.begin(agent.id);
      }
    },
    resumeAgent: teamwork.resumeAgent,
    cancelRun: async (runId, reason) => {
      const agent = await teamwork.cancelRun(runId, reason);
      if (agent) tidying.begin(agent.id);
      // The connected client belongs to the cancelled run. The next client to join opens another run.
      if (agent?.provider === EXTERNAL) {
        await doors.closeExternal(agent.id);
        await doors.openExternal([agent]);
      }
    },
  };
}
