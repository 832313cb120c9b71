import type { Config } from '../config/config.ts';
import { keyOf, USER_ID } from '../core/agent.ts';
import type { PeopleRules } from '../core/people.ts';

type Known = Pick<Config, 'people' | 'limits'> & { readonly daemon: Pick<Config['daemon'], 'timeZone'> };

/** People without a time zone of their own have the owner's, which is the daemon's unless it is configured. */
export function peopleRules({ people, limits, daemon }: Known): PeopleRules {
  const said = new Map(Object.entries(people).map(([name, person]) => [keyOf(name), person]));
  const ownZone = said.get(USER_ID)?.timeZone ?? daemon.timeZone;
  return {
    runsPerDay: (handle) => said.get(keyOf(handle))?.runsPerDay ?? limits.maxTreeRuns,
    timeZone: (handle) => said.get(keyOf(handle))?.timeZone ?? ownZone,
  };
}
