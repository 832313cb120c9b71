import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Env } from './expand.ts';

/** `$SUBSTRAT_HOME`, or `.substrat` in the person's home directory. */
export function resolveHome(env: Env): string {
  return resolve(env.SUBSTRAT_HOME || join(userHome(env), '.substrat'));
}

export function userHome(env: Env): string {
  return env.HOME || homedir();
}
