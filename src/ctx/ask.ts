import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Context, GlobalOptions } from '../command-line/context.ts';
import { findConfig } from '../config/find-config.ts';
import { userHome } from '../config/home.ts';
import type { Asker } from '../config/same-settings.ts';
import type { SearchAnswer, SearchRequest } from '../core/knowledge.ts';
import type { Answer } from '../tools/answer.ts';

const { request: openRequest } = process.getBuiltinModule('node:http');

/** The sockets of a daemon and of `ctx serve mcp`. */
const SOCKETS = /^(daemon|ctx-\d+)\.sock$/;
const PATIENCE_MS = 5000;

/**
 * Asks the daemon or a `ctx serve mcp` of this home to search, which is faster than opening the store. Null if none runs,
 * has the same settings and finds without a warning: then the command searches itself.
 */
export async function askServer(
  { home, version, program }: Context,
  command: Command,
  request: SearchRequest,
): Promise<SearchAnswer | null> {
  const sockets = socketsOf(home());
  const asker = sockets.length === 0 ? null : describeAsker(command, home());
  if (asker === null) return null;
  for (const socketPath of sockets) {
    const answer = await post(socketPath, JSON.stringify({ version, asker, request })).catch(() => null);
    if (answer === null || answer.said === null || answer.found.warning !== undefined) continue;
    for (const line of answer.said) process.stderr.write(`${program}: ${line}\n`);
    return answer.found;
  }
  return null;
}

function socketsOf(home: string): string[] {
  try {
    return readdirSync(home)
      .filter((name) => SOCKETS.test(name))
      .map((name) => join(home, name));
  } catch {
    return [];
  }
}

/** Null if the configuration cannot be read, which is reported where it is used. */
function describeAsker(command: Command, home: string): Asker | null {
  const { config, trust = false } = command.optsWithGlobals<GlobalOptions & { readonly trust?: boolean }>();
  const { env } = process;
  const cwd = process.cwd();
  try {
    const { file } = findConfig({ named: config, cwd, home, env });
    const source = file === null ? null : readFileSync(file, 'utf8');
    return { cwd, named: config ?? (env.CTX_CONFIG || null), trust, userHome: userHome(env), source };
  } catch {
    return null;
  }
}

function post(socketPath: string, body: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const options = { socketPath, method: 'POST', path: '/ctx/search', headers, timeout: PATIENCE_MS };
  const outgoing = openRequest(options, (response) => void readAnswer(response).then(resolve, reject));
  outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  return JSON.parse(Buffer.concat(chunks).toString()) as Answer;
}
