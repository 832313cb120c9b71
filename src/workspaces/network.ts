import { isIP } from 'node:net';
import type { Agent } from '../core/agent.ts';
import { networkOf, type WorkspaceRules } from './access.ts';
import type { Tx } from './tx.ts';

/** The hosts that an agent can reach: those of its workspace that its ancestors can reach now. */
export async function hostsOf(tx: Tx, rules: WorkspaceRules, agent: Agent): Promise<readonly string[]> {
  let hosts = await networkOf(tx, rules, agent.workspaceId);
  const others = (await tx.agents.listAncestors({ id: agent.id })).map((ancestor) => ancestor.workspaceId);
  for (const id of new Set(others)) {
    if (id !== agent.workspaceId) hosts = reachedByBoth(hosts, await networkOf(tx, rules, id));
  }
  return hosts;
}

/** The intersection of two host lists. An entry may be `*`, or a pattern such as `*.example.com`. */
export function reachedByBoth(a: readonly string[], b: readonly string[]): string[] {
  const common = a.flatMap((one) => b.flatMap((two) => (covers(two, one) ? one : covers(one, two) ? two : [])));
  return [...new Set(common)];
}

function covers(pattern: string, host: string): boolean {
  if (pattern === host) return true;
  const [wide, one] = [portOf(pattern), portOf(host)];
  if (wide.port !== one.port || isIP(one.name)) return false;
  return wide.name === '*' || (wide.name.startsWith('*.') && one.name.endsWith(wide.name.slice(1)));
}

/** An entry without a port means the web ports. */
function portOf(entry: string): { readonly name: string; readonly port: string } {
  const [, name = entry, port = ''] = /^(.*):(\d+)$/.exec(isIP(entry) === 6 ? '' : entry) ?? [];
  return { name, port };
}
