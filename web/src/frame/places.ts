import type { IconName } from '../parts/icon.tsx';

export interface Place {
  readonly page: string;
  readonly name: string;
  readonly icon: IconName;
  readonly key: string;
  /** Of no use to people other than the owner. */
  readonly owner: boolean;
}

/** The pages, in the order of the sidebar. */
export const PLACES: readonly Place[] = [
  { page: 'talk', name: 'Talk', icon: 'talk', key: 't', owner: false },
  { page: 'needs-me', name: 'Needs me', icon: 'need', key: 'n', owner: false },
  { page: 'team', name: 'Team', icon: 'team', key: 'a', owner: true },
  { page: 'runs', name: 'Runs', icon: 'runs', key: 'r', owner: true },
  { page: 'memory', name: 'Memory', icon: 'memory', key: 'm', owner: true },
  { page: 'knowledge', name: 'Knowledge', icon: 'knowledge', key: 'k', owner: true },
  { page: 'workspaces', name: 'Workspaces', icon: 'workspaces', key: 'w', owner: true },
  { page: 'costs', name: 'Costs and health', icon: 'costs', key: 'c', owner: true },
];
