import { appendFileSync, existsSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../command-line/context.ts';
import { makeHome } from '../config/home.ts';
import { keyOf, NAME } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import { shorten } from '../core/text.ts';
import { Extractor } from '../knowledge/extract/extractor.ts';
import type { FrontMatter } from '../knowledge/extract/markdown.ts';
import { toolsInScope } from '../tools/catalog.ts';
import { openReader } from './open-reader.ts';
import { trustOwn } from './own-config.ts';

interface Found {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly string[];
  readonly system: string;
}

interface Imported {
  readonly file: string;
  readonly added: readonly string[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly text: string;
}

const KNOWLEDGE_TOOLS = ['search', 'get', 'sources'];
const MAX_BYTES = 1024 * 1024;

/** Adds other programs' agents, instructions and skills to the configuration, as texts. */
export async function importPersonas(
  context: Context,
  command: Command,
  path: string,
  dryRun: boolean,
): Promise<Imported> {
  const reader = openReader(context, command);
  const config = reader.load();
  const file = config.file ?? (context.program === 'ctx' ? resolve('ctx.toml') : join(context.home(), 'config.toml'));
  const taken = new Set(config.agents.map(({ name }) => keyOf(name)));
  const known = [
    ...KNOWLEDGE_TOOLS,
    ...toolsInScope(null).map(({ name }) => name),
    ...config.tools.map(({ name }) => name),
  ];
  const root = resolve(path);
  const files = filesAt(root);
  if (files.length === 0) {
    throw new SubstratError('not_found', `${path} does not contain agents/*.md, AGENTS.md or SKILL.md.`);
  }
  const added: string[] = [];
  const skipped: { name: string; reason: string }[] = [];
  let text = '';
  const extractor = new Extractor();
  for (const one of files) {
    const found = await readPersona(root, one, known, extractor);
    if (typeof found === 'string') skipped.push({ name: one, reason: found });
    else if (taken.has(keyOf(found.name))) skipped.push({ name: found.name, reason: 'an agent with this name exists' });
    else {
      taken.add(keyOf(found.name));
      added.push(found.name);
      text += toToml(found);
    }
  }
  await extractor.close();
  if (dryRun || text === '') return { file, added, skipped, text };
  if (dirname(file) === context.home()) makeHome(context.home());
  const own = reader.trusted || (config.file === null && context.program === 'ctx');
  append(file, text, () => {
    if (own) trustOwn(context, file);
    openReader(context, command, { quiet: true }).load();
  });
  return { file, added, skipped, text };
}

/** Files are recognized by name: a file is used directly, a directory is searched. */
function filesAt(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new SubstratError('not_found', `${path} does not exist.`);
  if (!stat.isDirectory()) return [path];
  const nested = ['.claude/agents', '.claude/skills', 'skills'].map((name) => join(path, name)).filter(isDirectory);
  return [...new Set([path, ...nested].flatMap(filesIn))];
}

function filesIn(directory: string): string[] {
  const names = readdirSync(directory).sort();
  const isAgents = basename(directory) === 'agents';
  const own = names.filter((name) => name === 'AGENTS.md' || name === 'SKILL.md' || (isAgents && name.endsWith('.md')));
  const skills = names.map((name) => join(name, 'SKILL.md')).filter((name) => existsSync(join(directory, name)));
  return [...own, ...skills].map((name) => join(directory, name));
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * The text of a file, or why it is not read. Imported trees are often foreign, so a symlink inside one may only lead
 * to a file inside it; a file that a person named is read wherever it is.
 */
function readWithin(root: string, file: string): { readonly source: string } | string {
  try {
    const links = file === root ? ('follow' as const) : { within: root };
    return { source: readRegularText(file, { maxBytes: MAX_BYTES, links }) };
  } catch (error) {
    if (error instanceof UnreadableFile) return error.message;
    throw error;
  }
}

/** The persona in a file, or why it cannot be used. */
async function readPersona(
  root: string,
  file: string,
  known: readonly string[],
  extractor: Extractor,
): Promise<Found | string> {
  const read = readWithin(root, file);
  if (typeof read === 'string') return read;
  const { source } = read;
  const [, head, rest] = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n([\s\S]*))?$/.exec(source) ?? [];
  const about = head === undefined ? {} : await readHead(head, extractor);
  if (about === null) return 'its front matter is not valid YAML';
  const system = (head === undefined ? source : (rest ?? '')).trim();
  if (system === '') return 'it has no instructions';
  const name = typeof about.name === 'string' ? about.name : defaultName(file);
  if (!NAME.test(name)) return `${JSON.stringify(shorten(name))} is not a valid name`;
  const listed: readonly unknown[] =
    typeof about.tools === 'string' ? about.tools.split(',') : Array.isArray(about.tools) ? about.tools : [];
  const wanted = listed.map((tool) =>
    String(tool)
      .trim()
      .replace(/^mcp__\w+?__/, ''),
  );
  return {
    name,
    description: typeof about.description === 'string' ? about.description.trim() : `Instructions of ${name}`,
    // Tools of another program are not Substrat's tools.
    tools: listed.length === 0 ? KNOWLEDGE_TOOLS : wanted.filter((tool) => known.includes(tool)),
    system,
  };
}

/** Returns null if it cannot be parsed or takes too long. */
async function readHead(head: string, extractor: Extractor): Promise<FrontMatter | null> {
  try {
    return await extractor.parseFrontMatter(head, { strict: true });
  } catch {
    return null;
  }
}

/** An agent's file is named after it; AGENTS.md and SKILL.md after their directory. */
function defaultName(file: string): string {
  const own = basename(file, '.md');
  const name = own === 'AGENTS' || own === 'SKILL' ? basename(dirname(file)) : own;
  return name.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[-_]+/, '');
}

function toToml({ name, description, tools, system }: Found): string {
  return [
    '',
    `[agents.inline.${name}]`,
    `description = ${tomlString(description)}`,
    `tools = [${tools.map(tomlString).join(', ')}]`,
    `system_prompt = """\n${system.split(/\r?\n/).map(tomlEscaped).join('\n')}\n"""`,
    '',
  ].join('\n');
}

function tomlString(text: string): string {
  return `"${tomlEscaped(text)}"`;
}

/** JSON escapes are valid TOML; `${` is escaped, because foreign text has no configuration variables. */
function tomlEscaped(text: string): string {
  return JSON.stringify(text.replaceAll('${', () => '$${'))
    .slice(1, -1)
    .replaceAll('\u007f', '\\u007f');
}

/** Reverts the change if the file does not load afterwards. */
function append(file: string, text: string, check: () => unknown): void {
  const before = existsSync(file) ? statSync(file).size : 0;
  appendFileSync(file, text, { mode: 0o600 });
  try {
    check();
  } catch (error) {
    truncateSync(file, before);
    throw error;
  }
}
