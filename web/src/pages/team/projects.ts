import type { Agent } from '../../../../src/client/browser.ts';

export interface Project {
  readonly directory: string;
  readonly name: string;
}

type Placed = Pick<Agent, 'id' | 'parentId' | 'workspace'>;

/** The directories of people that agents work in. A private workspace is not a project. */
export function projectsOf(agents: readonly Placed[]): Project[] {
  const directories = [...new Set(agents.map(({ workspace }) => workspace).filter((path) => !isPrivate(path)))];
  const outermost = directories.filter((path) => !directories.some((other) => other !== path && isIn(path, other)));
  return outermost.map((directory) => ({ directory, name: directory.split('/').at(-1) || directory })).sort(byName);
}

/** The ids of the agents that work there, and of all below them, wherever those work. As `agent list --here` has it. */
export function agentsOf(agents: readonly Placed[], directory: string): Set<string> {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const belongs = (agent: Placed | undefined): boolean =>
    agent !== undefined &&
    (isIn(agent.workspace, directory) || (agent.parentId !== null && belongs(byId.get(agent.parentId))));
  return new Set(agents.filter(belongs).map(({ id }) => id));
}

function isIn(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory.replace(/\/$/, '')}/`);
}

/** Substrat makes those in its home, named by their id. */
function isPrivate(path: string): boolean {
  return /\/workspaces\/[0-9a-f-]{36}$/.test(path);
}

function byName(a: Project, b: Project): number {
  return a.name.localeCompare(b.name) || a.directory.localeCompare(b.directory);
}
