import { lstatSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import { copyTree } from './tree-copy.ts';

/** What the program shall find in the `.cursor` of its workspace. */
export interface CursorFiles {
  readonly workspace: string;
  /** Path of the agent's `mcp.json`, which names our servers. */
  readonly mcpConfig: string;
  readonly instructions: string;
  /** A prompt that no command line can hold. */
  readonly longPrompt: string | null;
}

export const promptFile = 'substrat-prompt.md';
const rulesFile = 'rules/substrat.mdc';
const configFile = 'mcp.json';
/** What a workspace's `mcp.json` was before a turn without a sandbox; empty where there was none. */
const keptFile = 'mcp.json.before-substrat';
const MAX_CONFIG = 1024 * 1024;

const servers = z.record(z.string(), z.looseObject({}));
const config = z.looseObject({ mcpServers: servers.default({}) });

/**
 * Makes the directory that takes the place of the workspace's `.cursor` in a sandbox: what is there, with our servers and
 * our rules. The whole directory, because a single file could be renamed away.
 */
export function buildCursorDirectory(files: CursorFiles, directory: string): void {
  const own = join(files.workspace, '.cursor');
  const there = isDirectory(own);
  rmSync(directory, { recursive: true, force: true });
  if (there) copyTree(own, directory);
  mkdirSync(join(directory, dirname(rulesFile)), { recursive: true, mode: 0o700 });
  rmSync(join(directory, keptFile), { force: true });
  const theirs = readConfig(join(directory, configFile)) ?? '';
  write(join(directory, configFile), merged(theirs, files));
  writeTexts(files, directory);
}

/** Without a sandbox the workspace's own `.cursor` is what the program reads. Answers how to put back what was there. */
export function lendCursorFiles(files: CursorFiles): () => void {
  const own = join(files.workspace, '.cursor');
  const rules = join(own, dirname(rulesFile));
  const [configured, kept] = [join(own, configFile), join(own, keptFile)];
  const made = [own, rules].filter((directory) => !isDirectory(directory));
  // Of a daemon that died during a turn there is one left, and that is what was there before.
  const before = readConfig(kept) ?? readConfig(configured) ?? '';
  const text = merged(before, files);
  for (const directory of made) mkdirSync(directory, { mode: 0o700 });
  write(kept, before);
  write(configured, text);
  writeTexts(files, own);
  return () => {
    if (before === '') rmSync(configured, { force: true });
    else renameSync(kept, configured);
    for (const file of [keptFile, rulesFile, promptFile]) rmSync(join(own, file), { force: true });
    for (const directory of made.toReversed()) removeIfEmpty(directory);
  };
}

/** The MCP servers that a workspace has of its own, by name. */
export function serversOf(workspace: string): Record<string, Record<string, unknown>> {
  const own = join(workspace, '.cursor');
  if (!isDirectory(own)) return {};
  const text = readConfig(join(own, keptFile)) ?? readConfig(join(own, configFile)) ?? '';
  return parse(text, workspace).mcpServers;
}

/** Their servers and ours; of two with one name ours is taken, or the agent would have no tools. */
function merged(theirs: string, { workspace, mcpConfig }: CursorFiles): string {
  const ours = config.parse(JSON.parse(readFileSync(mcpConfig, 'utf8')));
  const own = parse(theirs, workspace);
  return `${JSON.stringify({ ...own, mcpServers: { ...own.mcpServers, ...ours.mcpServers } }, null, 2)}\n`;
}

function parse(text: string, workspace: string): z.infer<typeof config> {
  if (text.trim() === '') return { mcpServers: {} };
  try {
    return config.parse(JSON.parse(text));
  } catch (error) {
    const message = `${join(workspace, '.cursor', configFile)} is no configuration of MCP servers; mend or remove it.`;
    throw new SubstratError('bad_request', message, { cause: error });
  }
}

function writeTexts({ instructions, longPrompt }: CursorFiles, directory: string): void {
  const head = '---\ndescription: Who you are, and how you work with others in Substrat\nalwaysApply: true\n---\n\n';
  write(join(directory, rulesFile), `${head}${instructions}\n`);
  if (longPrompt !== null) write(join(directory, promptFile), longPrompt);
}

/** In the place of whatever has that name, so that no link is followed. */
function write(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
}

/** Null where there is none. */
function readConfig(path: string): string | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isFile() && stats.size <= MAX_CONFIG) return readFileSync(path, 'utf8');
  throw new SubstratError('bad_request', `${path} must be a plain file of at most 1 MiB.`);
}

function isDirectory(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats || stats.isDirectory()) return stats !== undefined;
  throw new SubstratError('bad_request', `${path} must be a directory, not a link or a file.`);
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Something of the person's, or of the agent's, is in it by now.
  }
}
