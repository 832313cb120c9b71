import type { Config } from '../config/config.ts';
import { keyOf } from '../core/agent.ts';

/** Returns how many runs per day a person other than the owner may start. */
export function runsPerDayOf({ people, limits }: Pick<Config, 'people' | 'limits'>): (handle: string) => number {
  const said = new Map(Object.entries(people).map(([name, { runsPerDay }]) => [keyOf(name), runsPerDay]));
  return (handle) => said.get(keyOf(handle)) ?? limits.maxTreeRuns;
}
