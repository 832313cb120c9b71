import { computed, type Signal, signal } from '@preact/signals';
import { type Agent, allPages, type SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';
import { api, isOwner } from './session.ts';

/** Each agent has a signal of its own: an event about one changes only what shows that one. */
const known = new Map<string, Signal<Agent>>();
/** Ids, parents before their children, siblings by name. */
export const agentOrder = signal<readonly { readonly id: string; readonly depth: number }[]>([]);

const REFRESH_MS = 250;
/** From this many on, one list is cheaper than single reads. */
const MANY = 8;
const changed = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

export function startAgents(): () => void {
  const stops = [onReread(() => void readAll()), onEvent(take)];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The provider of each agent by its handle; it changes only when agents come and go. */
export const providers = computed(() => {
  const all = agentOrder.value.flatMap(({ id }) => known.get(id)?.peek() ?? []);
  return new Map(all.map(({ handle, provider }) => [handle, provider]));
});

/** Where each agent works; read again only when agents come and go. */
export const placed = computed(() =>
  agentOrder.value.flatMap(({ id }) => {
    const agent = known.get(id)?.peek();
    return agent ? [{ id, parentId: agent.parentId, workspace: agent.workspace }] : [];
  }),
);

export function agentById(id: string): Agent | null {
  return known.get(id)?.value ?? null;
}

export function agentByHandle(handle: string): Agent | null {
  for (const { id } of agentOrder.value) {
    const agent = known.get(id)?.value;
    if (agent?.handle === handle) return agent;
  }
  return null;
}

async function readAll(): Promise<void> {
  if (!isOwner.peek()) return;
  const found: Agent[] = [];
  for await (const agent of allPages((query) => api.listAgents(query))) found.push(agent);
  for (const id of [...known.keys()]) if (!found.some((agent) => agent.id === id)) known.delete(id);
  for (const agent of found) put(agent);
  order();
}

function take(event: SubstratEvent): void {
  if (!isOwner.peek() || !('agentId' in event.data) || event.data.agentId === undefined) return;
  // Channel events name agents too; only these change what an agent does.
  if (!/^(agent|run|delivery)_/.test(event.type)) return;
  changed.add(event.data.agentId);
  // Whoever waits for this agent may go on.
  for (const agent of known.values()) if (agent.peek().state === 'waiting') changed.add(agent.peek().id);
  if (timer === undefined) timer = setTimeout(() => void refresh(), REFRESH_MS);
}

async function refresh(): Promise<void> {
  timer = undefined;
  const ids = [...changed];
  changed.clear();
  if (ids.length > MANY) return readAll();
  const found = await Promise.all(ids.map((id) => api.getAgent(id).catch(() => null)));
  for (const agent of found) if (agent) put(agent);
  order();
}

function put(agent: Agent): void {
  const before = known.get(agent.id);
  if (agent.state === 'terminated') known.delete(agent.id);
  else if (before) {
    if (JSON.stringify(before.peek()) !== JSON.stringify(agent)) before.value = agent;
  } else known.set(agent.id, signal(agent));
}

function order(): void {
  const children = Map.groupBy(
    [...known.values()].map((agent) => agent.peek()),
    ({ parentId }) => (parentId !== null && known.has(parentId) ? parentId : null),
  );
  const rows: { id: string; depth: number }[] = [];
  const add = (parent: string | null, depth: number): void => {
    for (const { id } of (children.get(parent) ?? []).sort((a, b) => a.name.localeCompare(b.name))) {
      rows.push({ id, depth });
      add(id, depth + 1);
    }
  };
  add(null, 0);
  const same = rows.length === agentOrder.peek().length && rows.every(({ id }, i) => agentOrder.peek()[i]?.id === id);
  if (!same) agentOrder.value = rows;
}
