import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind, Needs } from '../core/command.ts';
import type { Turn } from './provider.ts';

/** Cursor's API, by which models are reached; the program has no other way to them. */
const hosts = ['api2.cursor.sh', '*.cursor.sh'];

/** What cursor-agent needs in a sandbox: our `.cursor`, the person's login and the configuration. */
export function cursorNeeds(turn: Turn, env: Readonly<Record<string, string>>, directory: string): Needs {
  const person = env.HOME ?? '/';
  const login = join(env.XDG_CONFIG_HOME ?? join(person, '.config'), 'cursor/auth.json');
  const binds: Bind[] = [
    { source: directory, target: join(turn.workspace, '.cursor'), mode: 'ro' },
    {
      source: writeConfig(person, `${directory}-config.json`),
      target: join(turn.home, '.cursor/cli-config.json'),
      mode: 'ro',
    },
  ];
  if (existsSync(login)) binds.push({ source: login, target: join(turn.home, '.config/cursor/auth.json'), mode: 'ro' });
  return { binds, hosts };
}

/** The person's own configuration, by HTTP/1.1: only so do its requests take the way out of the sandbox. */
function writeConfig(person: string, path: string): string {
  const own = readOwn(join(person, '.cursor/cli-config.json'));
  const network = { ...(own.network as object | undefined), useHttp1ForAgent: true };
  const required = { version: 1, editor: { vimMode: false }, permissions: { allow: [], deny: [] } };
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify({ ...required, ...own, network }, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}

function readOwn(path: string): Record<string, unknown> {
  try {
    const own: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof own === 'object' && own !== null && !Array.isArray(own) ? { ...own } : {};
  } catch {
    return {};
  }
}
