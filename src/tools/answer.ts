import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { readFor } from '../config/same-settings.ts';
import type { Knowledge, SearchAnswer } from '../core/knowledge.ts';
import { searchInput } from './knowledge.ts';

/** The search of a command, done by a running process. `said` is what the command prints about its configuration. */
export type Answer = { readonly said: null } | { readonly said: readonly string[]; readonly found: SearchAnswer };

const asked = z.strictObject({
  version: z.string(),
  asker: z.strictObject({
    cwd: z.string(),
    named: z.string().nullable(),
    trust: z.boolean(),
    userHome: z.string(),
    source: z.string().nullable(),
  }),
  request: searchInput,
});

/** Answers `ctx search` of the owner, if it would do exactly the same itself. */
export function createAnswer(own: {
  readonly config: Config;
  readonly home: string;
  readonly version: string;
  readonly knowledge: Knowledge;
}): (given: unknown) => Promise<Answer> {
  return async (given) => {
    const { version, asker, request } = asked.parse(given);
    const said = version === own.version ? readFor(asker, own.home, own.config) : null;
    return said === null ? { said } : { said, found: await own.knowledge.search(request) };
  };
}
