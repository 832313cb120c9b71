import type { ComponentType } from 'preact';
import { lazy } from '../parts/lazy.tsx';

/** The pages besides Talk, which is part of the first load. Each is loaded when it is opened. */
export const PAGES: Readonly<Record<string, ComponentType>> = {
  'needs-me': lazy(async () => (await import('./needs-me/needs-me.tsx')).NeedsMe),
  team: lazy(async () => (await import('./team/team.tsx')).Team),
  runs: lazy(async () => (await import('./runs/runs.tsx')).Runs),
};
