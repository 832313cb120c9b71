import { dirname, relative, resolve } from 'node:path';
import * as z from 'zod';
import { keyOf } from '../core/agent.ts';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import { renameOld } from './aliases.ts';
import { expand, type Unset } from './expand.ts';
import type { PathBase } from './fields.ts';
import { homeConfig, userHome } from './home.ts';
import { include, includedFiles, type TeamSection, withTeams } from './include.ts';
import { type Located, locate, type Path } from './locate.ts';
import { nearest } from './nearest.ts';
import { explainPaths } from './old-paths.ts';
import { parseSource, readSource } from './read.ts';
import { describeIssues, listProblems, type Problem, typeMessage } from './report.ts';
import { withSecrets } from './secrets.ts';
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
import { notify } from './sections/notify.ts';
import { people } from './sections/people.ts';
import { policies } from './sections/policies.ts';
import { acpProviders, providers } from './sections/providers.ts';
import { registries } from './sections/registries.ts';
import { retention } from './sections/retention.ts';
import { retrieval } from './sections/retrieval.ts';
import { sandbox } from './sections/sandbox.ts';
import { schedules } from './sections/schedules.ts';
import { server } from './sections/server.ts';
import { tools } from './sections/tools.ts';
import { type Disabled, describeDisabled, disableUnset } from './unset.ts';

export { acpProviders };

/** Every section of the file. To add one, create a file in `sections/` and add a line here. */
export const sections = (place: PathBase) => ({
  db: db(place),
  server,
  daemon,
  node: node(place),
  limits,
  events,
  backup,
  retention,
  sandbox: sandbox(place),
  providers: providers(place),
  members: members(place),
  channels,
  people,
  notify,
  policies,
  schedules,
  chunking,
  embedding: embedding(place),
  retrieval,
  connectors: connectors(place),
  tools: tools(place),
  agents: agents(place),
  registries: registries(place),
});

type Sections = { [Name in keyof ReturnType<typeof sections>]: z.output<ReturnType<typeof sections>[Name]> };

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** Every setting with defaults, deeply frozen. */
export type Config = DeepReadonly<Sections> & {
  /** Where the settings were read, or null. */
  readonly file: string | null;
  /** What needs a variable that is not set; it is missing in the sections. */
  readonly disabled: readonly Disabled[];
  /** What the author of the file should know, one line each. */
  readonly warnings: readonly string[];
};

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
  /** Sections that the program does not use: variables that they need may be unset. */
  readonly unused?: readonly string[] | undefined;
}

/** The sections that only the daemon uses. */
export const DAEMON_SECTIONS: readonly string[] = [
  ...['daemon', 'node', 'limits', 'events', 'retention', 'sandbox', 'providers'],
  ...['members', 'channels', 'people', 'notify', 'policies', 'schedules'],
];

export function loadConfig(options: LoadOptions): Config {
  const { file, name, source, place } = openConfig(options);
  // With `name`, only names of variables are shown.
  const env = options.unset === 'name' ? options.env : withSecrets(options.env, place.home);
  const read = parseSections(source, name, place, { ...options, env });
  const { include: patterns, ...own } = read.sections;
  const warnings = warningsOf(read, { file, name, cwd: options.cwd });
  if (patterns.length === 0 || file === null) {
    return deepFreeze({ ...own, file, disabled: read.disabled, warnings });
  }
  // A file that was found and not named is read once and trusted as it is; others that it includes would not be.
  if (options.source !== undefined) {
    const only = 'only the configuration of the home and files named with --config can include others';
    throw new SubstratError('config', `${name}: include: ${only}`);
  }
  const teams = includedFiles(patterns, file, name).map((path) => {
    const team = openConfig({ ...options, file: path });
    const { sections: parts, ...rest } = parseTeam(team.source, team.name, team.place, { ...options, env });
    return {
      file: team.name,
      team: parts,
      disabled: rest.disabled,
      warnings: warningsOf(rest, { ...team, cwd: options.cwd }),
    };
  });
  return deepFreeze({
    ...withTeams(own, teams),
    file,
    disabled: [...read.disabled, ...teams.flatMap(({ disabled }) => disabled)],
    warnings: [...warnings, ...teams.flatMap((team) => team.warnings)],
  });
}

function warningsOf(
  { document, notes, disabled, find }: Omit<Read, 'sections'>,
  { file, name, cwd }: { readonly file: string | null; readonly name: string; readonly cwd: string },
): string[] {
  const all = [
    ...notes,
    ...disabled.map((one) => ({ path: one.path, text: describeDisabled(one) })),
    ...(file === null ? [] : explainPaths(document, dirname(file), resolve(cwd))),
  ];
  return all.map(({ path, text }) => `${name}:${find(path).line}: ${text.replace(/\p{Cc}/gu, ' ')}.`);
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

type Reading = Pick<LoadOptions, 'env' | 'unset' | 'unused'>;

interface Read<Parts = unknown> {
  readonly sections: Parts;
  /** As written, with our names of keys. */
  readonly document: Record<string, unknown>;
  readonly disabled: readonly Disabled[];
  readonly notes: readonly Problem[];
  readonly find: (path: Path) => Located;
}

function parseSections(source: string, name: string, place: PathBase, reading: Reading) {
  const shape = { include, ...sections(place) };
  const schema = (disabled: readonly string[]) =>
    z.strictObject(shape).superRefine(checkPersonas(disabled)).superRefine(checkSilence);
  return parse(source, name, { keys: Object.keys(shape), schema }, reading);
}

/** A team is complete in its file: parents and personas of its members are there, too. */
function parseTeam(source: string, name: string, place: PathBase, reading: Reading): Read<Pick<Sections, TeamSection>> {
  const { members, channels, agents, connectors } = sections(place);
  const shape = { members, channels, agents, connectors } satisfies Record<TeamSection, unknown>;
  const schema = (disabled: readonly string[]) => z.strictObject(shape).superRefine(checkPersonas(disabled));
  return parse(source, name, { keys: Object.keys(shape), schema }, reading);
}

function parse<Schema extends z.ZodObject>(
  source: string,
  name: string,
  { keys, schema: schemaWith }: { readonly keys: readonly string[]; schema(disabled: readonly string[]): Schema },
  { env, unset, unused = [] }: Reading,
): Read<z.output<Schema>> {
  const { document, written, notes, ...old } = renameOld(parseSource(source, name));
  const expanded = keys.filter((key) => key !== 'include');
  const { value, problems: unexpanded } = expand(document, expanded, env, unset);
  const { disabled, problems } = disableUnset(value, { problems: unexpanded, unused });
  const personas = disabled.flatMap(({ path: [section, ...rest] }) => (section === 'agents' ? rest.slice(-1) : []));
  const schema = schemaWith(personas);
  // Compiling schemas for this one parse would cost more than it saves.
  const parsed = schema.safeParse(value, { error: typeMessage, jitless: true });
  // Only a file with problems or warnings is searched for lines.
  let located: ReturnType<typeof locate> | null = null;
  const find = (path: Path) => {
    located ??= locate(source);
    return located(written(path));
  };
  if (parsed.success && problems.length + old.problems.length === 0) {
    return { sections: parsed.data, document, disabled, notes, find };
  }
  const found = describeIssues(parsed.error?.issues ?? [], schema, find);
  throw new SubstratError('config', listProblems([...old.problems, ...problems, ...found], name, find));
}

type Peopled = Pick<Sections, 'members' | 'agents'>;

/** Members can only use personas that exist, even if they are disabled. */
const checkPersonas =
  (disabled: readonly string[]) =>
  ({ members, agents }: Peopled, context: z.RefinementCtx): void => {
    // If a section failed its own validation, the error is reported already and the value is not an array.
    if (!Array.isArray(members) || !Array.isArray(agents)) return;
    const known = [...agents.map((persona) => persona.name), ...disabled];
    for (const { name, persona } of members) {
      if (persona === null || known.some((one) => keyOf(one) === keyOf(persona))) continue;
      const close = nearest(persona, known);
      const message = `must name a persona of [agents]${close === null ? '' : ` (did you mean "${close}"?)`}`;
      context.addIssue({ code: 'custom', path: ['members', name, 'persona'], message });
    }
  };

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
