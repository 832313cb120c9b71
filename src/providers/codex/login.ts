import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { replaceInHome } from '../agent-home.ts';
import type { Variables } from '../environment.ts';

const credentials = z.looseObject({ tokens: z.looseObject({ refresh_token: z.string() }).nullish() });

/**
 * Copies the person's login into the agent's home without the token that renews it: that token works once, so a
 * program in a sandbox would log the person out. An agent can read what it is given.
 */
export function lendLogin(home: string, env: Variables): void {
  replaceInHome(
    home,
    '.codex/auth.json',
    readLogin(join(env.CODEX_HOME ?? join(env.HOME ?? '/', '.codex'), 'auth.json')),
  );
}

/** Null if the person is not logged in on this machine. */
function readLogin(file: string): string | null {
  try {
    const login = credentials.parse(JSON.parse(readFileSync(file, 'utf8')));
    const tokens = login.tokens && { ...login.tokens, refresh_token: '' };
    // The program renews a login that it believes to be old.
    return JSON.stringify({ ...login, tokens, last_refresh: new Date().toISOString() });
  } catch {
    return null;
  }
}
