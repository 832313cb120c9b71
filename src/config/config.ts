import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import * as z from 'zod';
import { keyOf } from '../core/agent.ts';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import { expand, type Unset } from './expand.ts';
import type { PathBase } from './fields.ts';
import { userHome } from './home.ts';
import { locate } from './locate.ts';
import { nearest } from './nearest.ts';
import { parseSource, readSource } from './read.ts';
import { describeIssues, listProblems, typeMessage } from './report.ts';
import { agents } from './sections/agents.ts';
import { backup } from './sections/backup.ts';
import { channels } from './sections/channels.ts';
import { chunking } from './sections/chunking.ts';
import { connectors } from './sections/connectors.ts';
import { daemon } from './sections/daemon.ts';
import { db } from './sections/db.ts';
import { embedding } from './sections/embedding.ts';
import { events } from './sections/events.ts';
import { limits } from './sections/limits.ts';
import { members } from './sections/members.ts';
import { node } from './sections/node.ts';
import { people } from './sections/people.ts';
import { providers } from './sections/providers.ts';
import { retention } from './sections/retention.ts';
import { retrieval } from './sections/retrieval.ts';
import { sandbox } from './sections/sandbox.ts';
import { server } from './sections/server.ts';
import { tools } from './sections/tools.ts';

/** Every section of the file. To add one, create a file in `sections/` and add a line here. */
export const sections = (place: PathBase) => ({
  db: db(place),
  server,
  daemon,
  node,
  limits,
  events,
  backup,
  retention,
  sandbox: sandbox(place),
  providers: providers(place),
  members: members(place),
  channels,
  people,
  chunking,
  embedding: embedding(place),
  retrieval,
  connectors: connectors(place),
  tools: tools(place),
  agents: agents(place),
});

type Sections = { [Name in keyof ReturnType<typeof sections>]: z.output<ReturnType<typeof sections>[Name]> };

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** Every setting with defaults, deeply frozen. `file` is where they were read, or null. */
export type Config = DeepReadonly<Sections> & { readonly file: string | null };

export interface LoadOptions {
  /** The value of `--config`; the file must exist. If omitted, the home's `config.toml` is read if it exists. */
  readonly file?: string | undefined;
  /** What `file` is relative to. No file in it is read unless `file` names it. */
  readonly cwd: string;
  readonly home: string;
  readonly env: Environment;
  /** The content of `file`, if it was read already. */
  readonly source?: string | undefined;
  readonly unset?: Unset | undefined;
}

export function loadConfig(options: LoadOptions): Config {
  const { file, name, source, place } = openConfig(options);
  return deepFreeze({ ...parseSections(source, name, place, options), file });
}

/** Locates the configuration and returns its content and the directory its paths are relative to. */
export function openConfig({ file, cwd, home, env, source }: LoadOptions) {
  const found = file === undefined ? homeConfig(resolve(cwd, home)) : resolve(cwd, file);
  const base = found === null ? cwd : dirname(found);
  const place: PathBase = {
    home: resolve(cwd, home),
    resolve: (path) =>
      resolve(
        base,
        path.replace(/^~(?=\/|$)/, () => userHome(env)),
      ),
  };
  const name = found === null ? 'defaults' : displayName(found, cwd);
  return { file: found, name, source: found === null ? '' : (source ?? readSource(found, name)), place };
}

/** Returns null if the home has no configuration. */
export function homeConfig(home: string): string | null {
  const file = join(home, 'config.toml');
  return existsSync(file) ? file : null;
}

function parseSections(
  source: string,
  name: string,
  place: PathBase,
  { env, unset }: Pick<LoadOptions, 'env' | 'unset'>,
): Sections {
  const shape = sections(place);
  const schema = z.strictObject(shape).superRefine(checkPersonas).superRefine(checkSilence);
  const { value, problems } = expand(parseSource(source, name), Object.keys(shape), env, unset);
  // Compiling schemas for this one parse would cost more than it saves.
  const parsed = schema.safeParse(value, { error: typeMessage, jitless: true });
  if (parsed.success && problems.length === 0) return parsed.data;
  const find = locate(source);
  const found = describeIssues(parsed.error?.issues ?? [], schema, find);
  throw new SubstratError('config', listProblems([...problems, ...found], name, find));
}

/** Members can only use personas that exist. */
function checkPersonas({ members, agents }: Sections, context: z.RefinementCtx): void {
  // If a section failed its own validation, the error is reported already and the value is not an array.
  if (!Array.isArray(members) || !Array.isArray(agents)) return;
  const known = agents.map((persona) => persona.name);
  for (const { name, persona } of members) {
    if (persona === null || known.some((one) => keyOf(one) === keyOf(persona))) continue;
    const close = nearest(persona, known);
    const message = `must name a persona of [agents]${close === null ? '' : ` (did you mean "${close}"?)`}`;
    context.addIssue({ code: 'custom', path: ['members', name, 'persona'], message });
  }
}

/** Another node must not take over while a lease of this one holds. */
function checkSilence({ node, daemon }: Sections, context: z.RefinementCtx): void {
  const silence = node?.deadAfterMs ?? null;
  if (silence === null || daemon === undefined || silence >= daemon.leaseMs) return;
  const message = 'must not be shorter than `[daemon] lease`';
  context.addIssue({ code: 'custom', path: ['node', 'dead_after'], message });
}

/** Relative to the working directory if the file is inside it. */
export function displayName(file: string, cwd: string): string {
  const path = relative(cwd, file);
  return path === '' || path.startsWith('..') ? file : path;
}

function deepFreeze<T extends object>(value: T): T {
  for (const child of Object.values(value) as unknown[])
    if (typeof child === 'object' && child !== null) deepFreeze(child);
  return Object.freeze(value);
}
