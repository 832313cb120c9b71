import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { isInside } from '../config/inside.ts';
import { deadAfterMs } from '../config/sections/node.ts';
import { SubstratError } from '../core/errors.ts';
import { type NodeRecord, nodeState } from '../core/node.ts';
import { tellPerson } from '../messaging/replies.ts';
import type { AgentView, Tx } from '../store/store.ts';
import { remoteKey } from '../workspaces/own-git.ts';
import type { Node } from './node.ts';
import { foundProviders } from './providers.ts';
import { canTake, portableGroups } from './takeover.ts';

/** Heartbeats during `dead_after`. */
const HEARTBEATS = 4;

/** The most that the processes of a turn get to exit before another node may run it again. */
const MOST_GRACE_MS = 2_000;

/**
 * After this much silence of the daemon, another process ends its turns: before their lease is over, and a grace before
 * other nodes may count this one as dead, even if it fell silent just before a heartbeat. At least half a lease, because
 * `dead_after` is at least one.
 */
export function patienceMs(config: Node['config']): number {
  const { leaseMs } = config.daemon;
  const grace = Math.min(MOST_GRACE_MS, leaseMs / 4);
  return Math.min(leaseMs - leaseMs / 4, deadAfterMs(config) - heartbeatMs(config) - grace);
}

export function heartbeatMs(config: Node['config']): number {
  return deadAfterMs(config) / HEARTBEATS;
}

/**
 * Registers this start of the daemon. From then on, an earlier daemon with the same node id cannot claim runs. Throws
 * if that daemon sends heartbeats from another place: this home is a copy, or was restored from a backup.
 */
export async function registerNode(node: Node, version: string): Promise<void> {
  const { store, home, incarnation, config, clock } = node;
  const { nodeId: id } = home;
  const host = hostname();
  await store.write(async (tx) => {
    const now = await tx.nodes.readClock({ now: clock() });
    const others = (await tx.nodes.listNodes()).flatMap(({ record }) => record ?? []);
    const earlier = others.find((one) => one.id === id);
    if (earlier && isElsewhere(earlier, realpathSync(home.path), host) && isShared(node))
      refuseIfAlive(earlier, now, home.path);
    const name = chooseName(
      config.node.name,
      earlier?.host ? earlier.name : host,
      others.filter((one) => one.id !== id),
      now,
    );
    await tx.nodes.registerNode({
      id,
      name,
      host,
      home: realpathSync(home.path),
      incarnation,
      version,
      labels: config.node.labels,
      providers: foundProviders(config, process.env),
      shared: config.node.portable ? config.node.shared : [],
      wipRemote: config.node.portable && config.node.wipRemote !== null ? remoteKey(config.node.wipRemote) : null,
      slots: config.daemon.slots,
      deadAfterMs: deadAfterMs(config),
      startedAt: now,
      clockAt: clock(),
    });
    await tx.nodes.clearNodeRequests({ nodeId: id });
    await tx.events.appendEvent({ type: 'node_started', at: clock(), data: { nodeId: id, node: name, version } });
  });
}

/** The home's lock already excludes a second daemon in the same place. */
function isElsewhere(earlier: NodeRecord, path: string, host: string): boolean {
  return earlier.host !== null && (earlier.host !== host || earlier.home !== path);
}

/** A copy of a home that contains its store does not share the store with the original. */
function isShared({ store, home, config: { db } }: Node): boolean {
  return store.engine === 'postgres' || ('path' in db && db.path !== ':memory:' && !isInside(home.path, db.path));
}

function refuseIfAlive(earlier: NodeRecord, now: number, path: string): void {
  const state = nodeState(earlier, now);
  if (state === 'stopped' || state === 'dead') return;
  const { id, name, host, home, seenAt, deadAfterMs: wait } = earlier;
  const ago = Math.max(0, Math.round((now - seenAt) / 1000));
  throw new SubstratError(
    'conflict',
    `Node ${name} (${id}) is already running on ${host} in ${home}; its last heartbeat was ${ago} s ago. ${path} has the same node id, so it is a copy of that home or was restored from its backup. If the other daemon no longer runs, start this one again in ${Math.ceil(wait / 1000)} s. To run both, remove the file "node" in ${path}: this home then becomes a new node.`,
  );
}

/** A configured name must be unused; the default name gets a number if another node has it. */
function chooseName(chosen: string | null, usual: string, others: readonly NodeRecord[], now: number): string {
  const holder = (name: string) => others.find((one) => one.name === name);
  if (chosen === null) {
    let name = usual;
    for (let n = 2; holder(name); n += 1) name = `${usual}-${n}`;
    return name;
  }
  const other = holder(chosen);
  if (!other) return chosen;
  const state = nodeState(other, now);
  const how =
    state === 'stopped' || state === 'dead' ? ` It is ${state}; remove it with \`substrat node remove\`.` : '';
  throw new SubstratError(
    'conflict',
    `Another node has the name "${chosen}": ${other.id} on ${other.host} in ${other.home}.${how} Set \`[node] name\` to another name.`,
  );
}

/** Marks the node as stopped when its daemon stops cleanly. */
export async function leaveNode({ store, home, incarnation, clock }: Omit<Node, 'config' | 'log'>): Promise<void> {
  const { nodeId: id } = home;
  await store.write(async (tx) => {
    const node = await tx.nodes.getNode({ id });
    if (!node || !(await tx.nodes.tryStopNode({ id, incarnation, now: clock() }))) return;
    await tx.events.appendEvent({ type: 'node_stopped', at: clock(), data: { nodeId: id, node: node.name } });
  });
}

/** Stores a heartbeat. Returns false if another daemon has registered with this node id. */
export async function sendHeartbeat({
  store,
  home,
  incarnation,
  clock,
}: Omit<Node, 'config' | 'log'>): Promise<boolean> {
  const { nodeId: id } = home;
  return store.write(async (tx) => {
    const before = await tx.nodes.getNode({ id });
    if (!before || !(await tx.nodes.trySeeNode({ id, incarnation, now: clock() }))) return false;
    if (before.lostAt !== null) {
      await tx.events.appendEvent({ type: 'node_returned', at: clock(), data: { nodeId: id, node: before.name } });
    }
    return true;
  });
}

/** How often to look for nodes whose heartbeats are missing: agents wait for it. With SQLite no other node runs. */
export function watchMs({ config, store }: Pick<Node, 'config' | 'store'>): number {
  return store.engine === 'sqlite' ? heartbeatMs(config) : Math.min(2_000, heartbeatMs(config));
}

/** Marks nodes as lost whose heartbeats are missing. */
export async function loseSilentNodes({ store, home, clock }: Pick<Node, 'store' | 'home' | 'clock'>): Promise<void> {
  const isOther = ({ id }: NodeRecord) => id !== home.nodeId;
  const silent = (await store.read((tx) => tx.nodes.listSilent({ now: clock() }))).filter(isOther);
  for (const node of silent) await store.write((tx) => loseNode(tx, node, clock()));
}

/** Tells the owner which agents are stranded, unless the daemon was stopped on purpose. */
async function loseNode(tx: Tx, node: NodeRecord, now: number): Promise<void> {
  const { id, name, seenAt, stoppedAt } = node;
  if (!(await tx.nodes.tryLoseNode({ id, seenAt, now }))) return;
  const agents = await tx.agents.listAgentViewsOn({ nodeId: id });
  const data = { nodeId: id, node: name, agents: agents.length };
  await tx.events.appendEvent({ type: 'node_lost', at: now, data });
  const alive = await othersAlive(tx, id, now);
  const movable = await movableFrom(tx, id, alive);
  const stranded = agents.filter((agent) => !movable.has(agent.id));
  const [first] = stranded;
  if (!first || stoppedAt !== null) return;
  const names = stranded.slice(0, 20).map(({ handle }) => handle);
  const more = stranded.length > names.length ? ` and ${stranded.length - names.length} more` : '';
  const text = `The node ${name} (${node.host}, ${node.home}) sends no heartbeat. Its agents are stranded until it is back: ${names.join(', ')}${more}. Start its daemon again. If it is gone for good, run \`substrat agent move REF --node NODE --without-workspace\` for each of them, or \`substrat node adopt ${name}\` where its home was moved to.`;
  await tellPerson(tx, first, [text, ...stranded.flatMap((agent) => olderWork(agent, alive) ?? [])].join('\n\n'), now);
}

/** Asks the owner whether an agent whose last turn was not pushed shall continue from what was pushed before. */
function olderWork(agent: AgentView, alive: readonly NodeRecord[]): string | null {
  const { handle, wipHash, wipRunId, wipRemote, wipProblem } = agent;
  const able = alive.find((one) => canTake(one, { agents: [agent] }));
  if (wipRemote === null || wipHash === null || !able) return null;
  const why = wipProblem === null ? '' : ` (${wipProblem})`;
  return `The last turn of ${handle} was not pushed${why}. If you agree that it continues with its files as they were after run ${wipRunId}, without what it did later, run \`substrat agent move ${handle} --node ${able.name}\`.`;
}

async function othersAlive(tx: Tx, nodeId: string, now: number): Promise<NodeRecord[]> {
  const clock = await tx.nodes.readClock({ now });
  return (await tx.nodes.listNodes()).flatMap(({ record }) =>
    record && record.id !== nodeId && nodeState(record, clock) === 'alive' ? [record] : [],
  );
}

/** The agents of a lost node that one of the others takes over. */
async function movableFrom(tx: Tx, nodeId: string, alive: readonly NodeRecord[]): Promise<ReadonlySet<string>> {
  const groups = (await portableGroups(tx, nodeId)).filter((group) => alive.some((record) => canTake(record, group)));
  return new Set(groups.flatMap(({ agents }) => agents.map(({ id }) => id)));
}
