import { storeName } from '../config/store-name.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Api, KnowledgeDoor } from '../http/api.ts';
import type { Provider } from '../providers/provider.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { AgentDoors } from './doors.ts';
import { setDraining } from './drain.ts';
import type { LazyExtensions } from './lazy-extensions.ts';
import { moveAgent } from './moving.ts';
import type { Node } from './node.ts';
import type { NodeDesk } from './node-desk.ts';
import { adoptNode, findNode, listNodes, nodeNotices, removeNode } from './nodes.ts';
import { askPersona } from './personas.ts';
import { placeAgent } from './placement.ts';
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
  readonly desk: NodeDesk;
  /** Lets a node, this or another one, look at agents again. */
  readonly tell: (nodeId: string, agentIds: readonly string[]) => Promise<void>;
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
  const { providers, sandbox, teamwork, doors, tidying, extensions, desk } = parts;
  const { tools, scheduler } = teamwork;
  const { rules, workspaces } = tools.settings;
  const place = { store, home, clock, workspaces };
  const moving = { store, home, clock, config, tell: parts.tell };
  return {
    store,
    clock,
    version,
    live: teamwork.live,
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
    nodeId: home.nodeId,
    askNode: (nodeId, call) => desk.ask(nodeId, call),
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
    placeAgent: (wish) => placeAgent({ store, home, clock, config }, wish),
    addAgent: async (wish, write) => {
      // Imported lazily: it loads every tool, and most starts do not create an agent.
      const { addAgent } = await import('./agents.ts');
      return addAgent({ store, home, config, clock, tools, providers }, wish, write);
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
    moveAgent: (reference, wish) => moveAgent(moving, reference, wish),
    setDraining: (reference, draining) => setDraining(moving, reference, draining),
    resumeAgent: teamwork.resumeAgent,
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
