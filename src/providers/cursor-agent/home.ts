import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceInHome } from '../agent-home.ts';
import type { Variables } from '../environment.ts';
import type { Turn } from '../provider.ts';
import { cursorConfigPlaces, type PermissionSource, permissionsOf, withOurs } from './permissions.ts';

const CONFIG = '.cursor/cli-config.json';
/** What else in a home decides what the program may do; an agent could have written it in an earlier turn. */
const STEERING = ['permissions.json', 'mcp.json', 'hooks.json', 'cli.json', 'hooks'];

/** The permissions that the person has given to the program for every workspace. */
export function personPermissions(env: Variables): PermissionSource {
  const { path, config } = readOwn(env);
  return permissionsOf(path, config);
}

/**
 * Lays out the agent's own home for a turn in a sandbox. The program rewrites its configuration, so that is a copy and not a mount,
 * made anew for every turn: whatever an agent writes into it is gone with the next one.
 */
export function prepareHome({ workspace, launch: { home } }: Turn, env: Variables): void {
  for (const name of STEERING) replaceInHome(home, join('.cursor', name), null);
  replaceInHome(home, CONFIG, configFor(env));
  const marker = trustMarker(workspace);
  if (marker) replaceInHome(home, marker.path, marker.text);
}

/**
 * Without a sandbox the program has the person's own home, in which only the trust of the workspace is missing. Where it cannot be
 * written, the program is left with `--trust`.
 */
export function trustWorkspace(workspace: string, home: string): void {
  const marker = trustMarker(workspace);
  if (!marker) return;
  const path = join(home, marker.path);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, marker.text, { mode: 0o600, flag: 'wx' });
  } catch {
    // It is there already, or cannot be.
  }
}

/** The person's own configuration with our rule, by HTTP/1.1: only so do its requests take the way out of the sandbox. */
function configFor(env: Variables): string {
  const { path, config } = readOwn(env);
  const network = { ...(config.network as object | undefined), useHttp1ForAgent: true };
  const permissions = withOurs([permissionsOf(path, config)]);
  const required = { version: 1, editor: { vimMode: false } };
  return `${JSON.stringify({ ...required, ...config, network, permissions }, null, 2)}\n`;
}

function readOwn(env: Variables): { path: string; config: Record<string, unknown> } {
  const places = cursorConfigPlaces(env);
  for (const place of places) {
    const path = join(place, 'cli-config.json');
    try {
      const config: unknown = JSON.parse(readFileSync(path, 'utf8'));
      if (typeof config === 'object' && config !== null && !Array.isArray(config))
        return { path, config: { ...config } };
    } catch {
      // The next place, or none: the program makes a configuration of its own where it has none.
    }
  }
  return { path: join(places.at(-1) ?? '/', 'cli-config.json'), config: {} };
}

/** By this file the program knows that a workspace is trusted; `--trust` alone is not reliable. Null where no name can hold the path. */
function trustMarker(workspace: string): { path: string; text: string } | null {
  const slug = workspace.replace(/[^a-zA-Z0-9]+/g, '-').replace(/^-|-$/g, '');
  if (slug === '' || slug.length > 200) return null;
  const text = JSON.stringify({
    trustedAt: new Date().toISOString(),
    workspacePath: workspace,
    trustMethod: 'cli-flag',
  });
  return { path: `.cursor/projects/${slug}/.workspace-trusted`, text: `${text}\n` };
}
