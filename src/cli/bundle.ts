import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { createClient } from '../client/client.ts';
import { explainConfig } from '../config/explain.ts';
import { withSecrets } from '../config/secrets.ts';
import { SubstratError } from '../core/errors.ts';
import type { Finding } from './finding.ts';
import { createRedaction } from './redact.ts';

const LOG_LINES = 2_000;

/** Everything that helps with a report of a problem, without secrets and without what agents and people wrote. */
export async function writeBundle(
  file: string,
  { home, config, findings, version }: Bundled,
): Promise<{ readonly file: string; readonly names: string[] }> {
  if (existsSync(file)) throw new SubstratError('bad_request', `${file} exists already; choose a new file.`);
  const redact = createRedaction(knownSecrets(home), process.env);
  const parts: Record<string, string> = {
    'doctor.json': json({ findings }),
    'versions.json': json({
      substrat: version,
      node: process.versions,
      platform: process.platform,
      arch: process.arch,
    }),
    'configuration.json': configuration(home, config),
    'daemon.log': lastLines(join(home, 'daemon.log')),
    'daemon.out': lastLines(join(home, 'daemon.out')),
    'home.txt': existsSync(home) ? `${readdirSync(home).sort().join('\n')}\n` : '',
    ...(await ofDaemon(home)),
  };
  const entries = Object.entries(parts).map(([name, text]) => [name, strToU8(redact(text))] as const);
  writeFileSync(file, zipSync(Object.fromEntries(entries)), { mode: 0o600, flag: 'wx' });
  return { file, names: Object.keys(parts) };
}

interface Bundled {
  readonly home: string;
  readonly config: string | undefined;
  readonly findings: readonly Finding[];
  readonly version: string;
}

/** The settings by key: secrets are hidden, texts for agents are left out. */
function configuration(home: string, file: string | undefined): string {
  try {
    const { settings } = explainConfig({ file, cwd: process.cwd(), home, env: process.env });
    const isPrivate = (key: string) =>
      /instructions|system_prompt|blocks|topic|description|arguments|^schedules\..*\.text$/.test(key);
    return json({ settings: settings.map((one) => (isPrivate(one.key) ? { ...one, value: '(left out)' } : one)) });
  } catch (error) {
    return json({ problem: (error as Error).message });
  }
}

/** States, counts and errors. No messages, no instructions, no results. */
async function ofDaemon(home: string): Promise<Record<string, string>> {
  try {
    const client = createClient({ home });
    const [status, agents, runs, nodes, providers] = await Promise.all([
      client.getStatus(),
      client.listAgents({ all: true, limit: 200 }),
      client.listRuns({ limit: 100 }),
      client.listNodes(),
      client.listProviders(),
    ]);
    return {
      'status.json': json(status),
      'agents.json': json(
        agents.items.map(({ id, state, status: held, provider, model, node, pending, createdAt }) => {
          return { id, state, status: held?.kind ?? null, provider, model, node, pending, createdAt };
        }),
      ),
      'runs.json': json(
        runs.items.map(({ id, agentId, state, attempt, stopReason, createdAt, startedAt, endedAt, usage }) => {
          return { id, agentId, state, attempt, stopReason, createdAt, startedAt, endedAt, usage };
        }),
      ),
      'nodes.json': json(nodes.items),
      'providers.json': json(providers.items),
    };
  } catch (error) {
    return { 'daemon.json': json({ problem: (error as Error).message }) };
  }
}

/** Values that must not be in the bundle, wherever they would be. */
function knownSecrets(home: string): string[] {
  const secrets = Object.values(withSecrets({}, home)).filter((value) => value !== undefined);
  const token = join(home, 'token');
  return [...secrets, ...(existsSync(token) ? [readFileSync(token, 'utf8').trim()] : [])];
}

function lastLines(file: string): string {
  if (!existsSync(file)) return '';
  return readFileSync(file, 'utf8').split('\n').slice(-LOG_LINES).join('\n');
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
