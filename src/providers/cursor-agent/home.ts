import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceInHome } from '../agent-home.ts';
import type { Variables } from '../environment.ts';
import type { Turn } from '../provider.ts';
import { cursorConfigPlaces, type PermissionSource, permissionsOf, withOurs } from './permissions.ts';

const CONFIG = '.cursor/cli-config.json';
/** Other files in a home that decide what the program may do; an agent could have written them in an earlier turn. */
const STEERING = ['permissions.json', 'mcp.json', 'hooks.json', 'cli.json', 'hooks'];

/** The permissions that the person has given the program for every workspace. */
export function personPermissions(env: Variables): PermissionSource {
  const { path, config } = readOwn(env);
  return permissionsOf(path, config);
}

/**
 * Prepares the agent's home for a turn in a sandbox. The program rewrites its configuration, so it is a copy, not a
 * mount, and is written again for every turn: changes by an agent do not last.
 */
export function prepareHome({ workspace, launch: { home } }: Turn, env: Variables): void {
  for (const name of STEERING) replaceInHome(home, join('.cursor', name), null);
  replaceInHome(home, CONFIG, configFor(env));
  const marker = trustMarker(workspace);
  if (marker) replaceInHome(home, marker.path, marker.text);
}

/**
 * Without a sandbox, the program uses the person's own home, which only lacks the trust of the workspace. If that
 * cannot be written, the program relies on `--trust`.
 */
export function trustWorkspace(workspace: string, home: string): void {
  const marker = trustMarker(workspace);
  if (!marker) return;
  const path = join(home, marker.path);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, marker.text, { mode: 0o600, flag: 'wx' });
  } catch {
    // It already exists or cannot be created.
  }
}

/**
 * The person's own configuration with our rule and HTTP/1.1; with HTTP/2 its requests would not use the sandbox's
 * proxy.
 */
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
      // Try the next place. Without a configuration, the program creates its own.
    }
  }
  return { path: join(places.at(-1) ?? '/', 'cli-config.json'), config: {} };
}

/**
 * The file by which the program knows that a workspace is trusted; `--trust` alone is not reliable. Null if the path
 * is too long for a file name.
 */
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
