import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { replaceInHome } from '../agent-home.ts';
import type { Variables } from '../environment.ts';

const FILE = '.local/share/opencode/auth.json';
const logins = z.record(z.string(), z.looseObject({ type: z.string() }));

/**
 * Copies the person's logins with an API key into the agent's home, which an agent can read. The others have a token
 * that works once: a program in a sandbox would log the person out.
 */
export function lendLogin(home: string, env: Variables): void {
  const data = env.XDG_DATA_HOME;
  replaceInHome(home, FILE, readLogins(data ? join(data, 'opencode/auth.json') : join(env.HOME ?? '/', FILE)));
}

/** Null if there are none on this machine. */
function readLogins(file: string): string | null {
  try {
    const all = Object.entries(logins.parse(JSON.parse(readFileSync(file, 'utf8'))));
    return JSON.stringify(Object.fromEntries(all.filter(([, { type }]) => type === 'api')));
  } catch {
    return null;
  }
}
