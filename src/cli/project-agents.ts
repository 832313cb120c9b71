import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Agent, allPages, type Client } from '../client/client.ts';
import { realPlace } from '../config/inside.ts';

/** The repository that the directory is in, or the directory itself. */
export function projectOf(directory: string): string {
  for (let place = directory; ; place = dirname(place)) {
    if (existsSync(join(place, '.git'))) return place;
    if (dirname(place) === place) return directory;
  }
}

/** Agents that work in the project, with all of their descendants, wherever those work. */
export function agentsIn<One extends Pick<Agent, 'id' | 'parentId' | 'workspace'>>(
  agents: readonly One[],
  project: string,
): One[] {
  const root = realPlace(project) ?? project;
  const isHere = (workspace: string) => {
    const path = relative(root, realPlace(workspace) ?? workspace);
    return path === '' || !(path === '..' || path.startsWith('../'));
  };
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const belongs = (agent: One | undefined): boolean =>
    agent !== undefined && (isHere(agent.workspace) || (agent.parentId !== null && belongs(byId.get(agent.parentId))));
  return agents.filter(belongs);
}

/** Whether an event concerns an agent of the project. Looks again when agents are created. */
export async function eventsOfProject(
  client: Client,
  project: string,
): Promise<(event: { readonly type: string; readonly data: object }) => Promise<boolean>> {
  const read = async () => {
    const all: Agent[] = [];
    for await (const agent of allPages((query) => client.listAgents({ ...query, all: true }))) all.push(agent);
    return new Set(agentsIn(all, project).flatMap(({ id, handle }) => [id, handle]));
  };
  let names = await read();
  return async ({ type, data }) => {
    if (type === 'agent_created') names = await read();
    return isAbout(data, names);
  };
}

/** Whether one of the values is the id or the handle of an agent. */
function isAbout(value: unknown, names: ReadonlySet<string>): boolean {
  if (typeof value === 'string') return names.has(value);
  return typeof value === 'object' && value !== null && Object.values(value).some((one) => isAbout(one, names));
}
