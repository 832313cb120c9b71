import { isIP } from 'node:net';
import { relative } from 'node:path';
import { replaceHidden } from '../core/hidden.ts';
import type { Config } from './config.ts';
import { isInside } from './inside.ts';
import { storeName } from './store-name.ts';

/** Something that a configuration asks for and that requires trust. */
export interface Want {
  /** The table of the configuration: `[embedding]`. */
  readonly table: string;
  /** Completes the sentence "it wants to …". */
  readonly text: string;
}

/** A file named by the configuration whose content decides what is done. */
export interface NamedFile {
  readonly path: string;
  readonly kind: 'script' | 'module' | 'instructions';
}

type Sections = Omit<Config, 'file' | 'disabled' | 'warnings'>;
type Judge = { readonly [Name in keyof Sections]: (section: Sections[Name], directory: string) => Want[] };

/** What the configuration would do beyond indexing and searching its own directory, by section. */
export function wantsOf(config: Sections, directory: string): Want[] {
  const names = Object.keys(JUDGE) as (keyof Sections)[];
  return names
    .flatMap((name) => (JUDGE[name] as (section: unknown, directory: string) => Want[])(config[name], directory))
    .map(({ table, text }) => ({ table: oneLine(table), text: oneLine(text) }));
}

export function namedFiles({ agents, tools, connectors, members }: Sections): NamedFile[] {
  const files: NamedFile[] = [
    ...agents.flatMap((entry) =>
      entry.kind === 'toml'
        ? []
        : [{ path: entry.path, kind: entry.kind === 'ts' ? ('module' as const) : ('script' as const) }],
    ),
    ...tools.map(({ path }) => ({ path, kind: 'script' as const })),
    ...Object.values(connectors.script).map(({ path }) => ({ path, kind: 'script' as const })),
    ...members.flatMap(({ instructionsFile: path }) =>
      path === null ? [] : [{ path, kind: 'instructions' as const }],
    ),
  ];
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

const nothing = () => [];

/** A new section does not compile until it is handled here. */
const JUDGE: Judge = {
  daemon: nothing,
  node: nothing,
  limits: nothing,
  events: nothing,
  channels: nothing,
  people: nothing,
  policies: nothing,
  schedules: nothing,
  backup: nothing,
  retention: nothing,
  chunking: nothing,
  retrieval: nothing,
  notify: ({ url, ntfy }) =>
    [url, ntfy]
      .filter((address) => address !== null)
      .map((address) => ({ table: '[notify]', text: `tell ${originOf(address)} of questions` })),
  db: (db, directory) => {
    const files = 'path' in db ? ['', '-wal', '-shm', '-journal'].map((end) => db.path + end) : [];
    if ('path' in db && (db.path === ':memory:' || files.every((file) => isInside(directory, file)))) return [];
    return [{ table: '[db]', text: `${'path' in db ? 'write' : 'connect to'} the store ${storeName(db)}` }];
  },
  server: ({ bind: { host, port }, origins }) =>
    [
      ...(isLoopback(host) ? [] : [`listen on ${host}:${port}, which other machines can reach`]),
      ...origins.map((origin) => `let pages of ${origin} read what it serves`),
    ].map((text) => ({ table: '[server]', text })),
  sandbox: ({ mode, roots, network }, directory) => {
    const off = mode === 'none' && process.platform === 'linux';
    const outside = roots.filter((root) => !isInside(directory, root));
    return [
      ...(off ? [{ table: '[sandbox]', text: 'run agents without a sandbox' }] : []),
      ...outside.map((root) => ({ table: '[sandbox]', text: `let agents read ${root}` })),
      ...network.map((host) => ({ table: '[sandbox]', text: `let agents reach ${host}` })),
    ];
  },
  providers: (providers) =>
    Object.entries(providers).map(([name, settings]) => ({
      table: `[providers.${name}]`,
      text:
        settings && 'command' in settings && settings.command
          ? `run the program ${settings.command}`
          : `set how ${name} is run`,
    })),
  members: (members, directory) =>
    members.flatMap(({ name, program, workspace, instructionsFile }) => {
      const table = `[members.${name}]`;
      const read = [workspace, instructionsFile].filter((path) => path !== null && !isInside(directory, path));
      return [
        ...(program === null ? [] : [{ table, text: `run the program ${shown(program, directory)}` }]),
        ...read.map((path) => ({ table, text: `read ${path}` })),
      ];
    }),
  embedding: ({ provider, url, path }) => {
    const table = '[embedding]';
    if (provider === 'disabled') return [];
    if (provider !== 'local') return [{ table, text: `send the texts to ${originOf(url) ?? provider} for embeddings` }];
    return [{ table, text: path === null ? 'fetch and run the model for embeddings' : `run the model in ${path}` }];
  },
  connectors: ({ filesystem, git, s3, script, ...others }, directory) => [
    ...Object.entries(filesystem).flatMap(([name, { root, followSymlinks }]) => {
      const table = `[connectors.filesystem.${name}]`;
      return [
        ...(isInside(directory, root) ? [] : [{ table, text: `read ${root}` }]),
        ...(followSymlinks ? [{ table, text: `follow symbolic links out of ${shown(root, directory)}` }] : []),
      ];
    }),
    ...Object.entries(git).map(([name, { url }]) => ({
      table: `[connectors.git.${name}]`,
      text: `fetch ${url.replace(/:\/\/[^/]*@/, '://')} with git`,
    })),
    ...Object.entries(s3).map(([name, { bucket, endpointUrl, region }]) => ({
      table: `[connectors.s3.${name}]`,
      text: `read the bucket ${bucket} at ${originOf(endpointUrl) ?? `Amazon's ${region}`} with your credentials`,
    })),
    ...Object.entries(script).map(([name, { path }]) => runsScript(`[connectors.script.${name}]`, path, directory)),
    ...Object.keys(others satisfies Record<string, never>).map((type) => ({
      table: `[connectors.${type}]`,
      text: `read from ${type}`,
    })),
  ],
  registries: (registries, directory) =>
    Object.entries(registries).flatMap(([name, { url, path }]) => {
      const table = `[registries.${name}]`;
      if (url !== null) return [{ table, text: `fetch ${url.replace(/:\/\/[^/]*@/, '://')} with git` }];
      return path === null || isInside(directory, path) ? [] : [{ table, text: `read ${path}` }];
    }),
  tools: (tools, directory) => tools.map(({ name, path }) => runsScript(`[tools.script.${name}]`, path, directory)),
  agents: (agents, directory) =>
    agents.flatMap((entry) => {
      if (entry.kind === 'toml') return [];
      if (entry.kind === 'lua') return [runsScript(entry.table, entry.path, directory)];
      const text = `run the module ${shown(entry.path, directory)} outside any sandbox, with whatever it imports`;
      return [{ table: entry.table, text }];
    }),
};

/** Prevents a file from adding its own lines to the question about it. */
export function oneLine(text: string): string {
  const escaped = (unit: string) => (unit === '\n' ? '\\n' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return replaceHidden(text, (hidden) => hidden.split('').map(escaped).join(''));
}

function runsScript(table: string, path: string, directory: string): Want {
  return { table, text: `run the script ${shown(path, directory)}` };
}

function shown(path: string, directory: string): string {
  const near = relative(directory, path);
  return near === '' || near.startsWith('..') ? path : near;
}

/** Everything after the host of a URL may be a secret. */
function originOf(url: string | null): string | null {
  return url === null ? null : (URL.parse(url)?.origin ?? url);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
