import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NAME } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import { shorten } from '../core/text.ts';
import { Extractor } from '../knowledge/extract/extractor.ts';
import type { FrontMatter } from '../knowledge/extract/markdown.ts';

/** What another program knows about an agent, as far as it is text. Commands, hooks and servers are not read. */
export interface FoundAgent {
  readonly file: string;
  readonly name: string;
  readonly description: string;
  /** The tools that it names; null if it names none. */
  readonly tools: readonly string[] | null;
  readonly system: string;
}

const MAX_BYTES = 1024 * 1024;

/** The agents, instructions and skills at a path: a file, or a directory that is searched. */
export async function findAgents(
  root: string,
): Promise<{ found: FoundAgent[]; skipped: { name: string; reason: string }[] }> {
  const found: FoundAgent[] = [];
  const skipped: { name: string; reason: string }[] = [];
  const files = filesAt(root);
  if (files.length === 0) return { found, skipped };
  const extractor = new Extractor();
  try {
    for (const file of files) {
      const read = await readAgent(root, file, extractor);
      if (typeof read === 'string') skipped.push({ name: file, reason: read });
      else found.push(read);
    }
  } finally {
    await extractor.close();
  }
  return { found, skipped };
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

/** The agent in a file, or why it cannot be used. */
async function readAgent(root: string, file: string, extractor: Extractor): Promise<FoundAgent | string> {
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
    file,
    name,
    description: typeof about.description === 'string' ? about.description.trim() : `Instructions of ${name}`,
    tools: listed.length === 0 ? null : wanted,
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
