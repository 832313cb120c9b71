import type { ComponentType } from 'preact';
import { lazy } from '../parts/lazy.tsx';

/** The pages besides Talk, which is part of the first load. Each is loaded when it is opened. */
export const PAGES: Readonly<Record<string, ComponentType>> = {
  'needs-me': lazy(async () => (await import('./needs-me/needs-me.tsx')).NeedsMe),
  team: lazy(async () => (await import('./team/team.tsx')).Team),
  memory: lazy(async () => (await import('./memory/memory.tsx')).Memory),
  knowledge: lazy(async () => (await import('./knowledge/knowledge.tsx')).Knowledge),
  workspaces: lazy(async () => (await import('./workspaces/workspaces.tsx')).Workspaces),
  costs: lazy(async () => (await import('./costs/costs.tsx')).Costs),
  runs: lazy(async () => (await import('./runs/runs.tsx')).Runs),
};
