import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { replaceInHome } from '../agent-home.ts';
import type { Variables } from '../environment.ts';

const FILE = '.claude/.credentials.json';

const credentials = z.object({ claudeAiOauth: z.looseObject({ refreshToken: z.unknown().optional() }) });

/**
 * Copies the person's login into the agent's home without the token that renews it: that token works once, so a
 * program in a sandbox would log the person out. An agent can read what it is given.
 */
export function lendLogin(home: string, env: Variables): void {
  replaceInHome(
    home,
    FILE,
    readLogin(join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? '/', '.claude'), '.credentials.json')),
  );
}

/** Null if the person is not logged in on this machine. */
function readLogin(file: string): string | null {
  try {
    const { claudeAiOauth } = credentials.parse(JSON.parse(readFileSync(file, 'utf8')));
    const { refreshToken: _, ...lent } = claudeAiOauth;
    return JSON.stringify({ claudeAiOauth: lent });
  } catch {
    return null;
  }
}
