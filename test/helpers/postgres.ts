import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, inject } from 'vitest';
import type { StarterAnswer } from './postgres-server.ts';

const server = await askForServer();

/** A `describe` that is skipped, with the reason printed, if PostgreSQL is not available. */
export function describeOnPostgres(name: string, tests: () => void): void {
  const missing = 'unavailable' in server;
  if (missing) console.warn(`Skipped: ${name}. ${server.unavailable}.`);
  describe.skipIf(missing)(name, tests);
}

/** A new, empty database on the run's PostgreSQL. `drop()` closes the remaining connections. */
export async function createDatabase(): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  if (!('url' in server)) throw new Error(server.unavailable);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(server.url);
  url.pathname = name;
  await query(`create database ${name}`);
  return { url: url.href, drop: () => query(`drop database ${name} with (force)`) };
}

/** A reused database with the newest schema, which is cheap. */
export async function takeDatabase(): Promise<{ readonly url: string; readonly giveBack: () => Promise<void> }> {
  const url = urlOf(await ask('/database'));
  return { url, giveBack: async () => void urlOf(await ask(`/database?given=${encodeURIComponent(url)}`)) };
}

async function askForServer(): Promise<Exclude<StarterAnswer, { error: string }>> {
  const answer = await ask('/');
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}

function urlOf(answer: StarterAnswer): string {
  if ('url' in answer) return answer.url;
  throw new Error('error' in answer ? answer.error : answer.unavailable);
}

async function ask(path: string): Promise<StarterAnswer> {
  return (await (await fetch(new URL(path, inject('postgresStarter')))).json()) as StarterAnswer;
}

async function query(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: 'url' in server ? server.url : undefined });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
