import { lstatSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { SubstratError } from '../../core/errors.ts';
import { parseBounded } from '../../core/json-bounds.ts';
import { readRegularText, UnreadableFile } from '../../core/regular-file.ts';
import { removeTree } from '../../core/remove-tree.ts';
import { copyTree } from '../tree-copy.ts';
import { type PermissionSource, type Permissions, permissionsOf } from './permissions.ts';

/** What the program should find in the `.cursor` of its workspace. */
export interface CursorFiles {
  readonly workspace: string;
  /** Path of the agent's `mcp.json`, which names our servers. */
  readonly mcpConfig: string;
  readonly instructions: string;
  /** A prompt that is too long for a command line. */
  readonly longPrompt: string | null;
  readonly permissions: Permissions;
}

export const promptFile = 'substrat-prompt.md';
const rulesFile = 'rules/substrat.mdc';
const configFile = 'mcp.json';
const cliFile = 'cli.json';
/** The content of a workspace's file before a turn without a sandbox; empty if there was none. */
const kept = (file: string) => `${file}.before-substrat`;
const MAX_CONFIG = 1024 * 1024;

const servers = z.record(z.string(), z.looseObject({}));
const config = z.looseObject({ mcpServers: servers.default({}) });

/**
 * Builds the directory that replaces the workspace's `.cursor` in a sandbox: the existing files with our servers and
 * our rules. The whole directory is replaced, because a single file could be renamed away.
 */
export async function buildCursorDirectory(files: CursorFiles, directory: string): Promise<void> {
  const own = join(files.workspace, '.cursor');
  const there = isDirectory(own);
  await removeTree(directory);
  if (there) await copyTree(own, directory);
  mkdirSync(join(directory, dirname(rulesFile)), { recursive: true, mode: 0o700 });
  for (const [file, merge] of MERGED) {
    rmSync(join(directory, kept(file)), { force: true });
    write(join(directory, file), merge(readConfig(join(directory, file)) ?? '', files));
  }
  writeTexts(files, directory);
}

/** Without a sandbox, the program reads the workspace's own `.cursor`. Returns how to restore the previous files. */
export function lendCursorFiles(files: CursorFiles): () => void {
  const own = join(files.workspace, '.cursor');
  const rules = join(own, dirname(rulesFile));
  const made = [own, rules].filter((directory) => !isDirectory(directory));
  const lent = MERGED.map(([file, merge]) => {
    const [path, keptPath] = [join(own, file), join(own, kept(file))];
    // A copy left by a daemon that died during a turn is the original.
    const before = readConfig(keptPath) ?? readConfig(path) ?? '';
    return { path, keptPath, before, text: merge(before, files) };
  });
  for (const directory of made) mkdirSync(directory, { mode: 0o700 });
  for (const { path, keptPath, before, text } of lent) {
    write(keptPath, before);
    write(path, text);
  }
  writeTexts(files, own);
  return () => {
    for (const { path, keptPath, before } of lent) {
      if (before === '') rmSync(path, { force: true });
      else renameSync(keptPath, path);
      rmSync(keptPath, { force: true });
    }
    for (const file of [rulesFile, promptFile]) rmSync(join(own, file), { force: true });
    for (const directory of made.toReversed()) removeIfEmpty(directory);
  };
}

/** The workspace's own MCP servers, by name. */
export function serversOf(workspace: string): Record<string, Record<string, unknown>> {
  return parse(readOwn(workspace, configFile), workspace).mcpServers;
}

/** The workspace's own permissions. */
export function workspacePermissions(workspace: string): PermissionSource {
  return permissionsOf(join(workspace, '.cursor', cliFile), parseCli(readOwn(workspace, cliFile), workspace));
}

function readOwn(workspace: string, file: string): string {
  const own = join(workspace, '.cursor');
  if (!isDirectory(own)) return '';
  return readConfig(join(own, kept(file))) ?? readConfig(join(own, file)) ?? '';
}

/** Merges both sets of servers; ours wins if a name is taken, otherwise the agent would have no tools. */
function merged(theirs: string, { workspace, mcpConfig }: CursorFiles): string {
  const ours = config.parse(JSON.parse(readFileSync(mcpConfig, 'utf8')));
  const own = parse(theirs, workspace);
  return `${JSON.stringify({ ...own, mcpServers: { ...own.mcpServers, ...ours.mcpServers } }, null, 2)}\n`;
}

/**
 * Read-only in a sandbox, and takes precedence over the home's file: it has all rules, so that none depends on what
 * an agent writes there.
 */
function mergedCli(theirs: string, { workspace, permissions }: CursorFiles): string {
  return `${JSON.stringify({ ...parseCli(theirs, workspace), permissions }, null, 2)}\n`;
}

const MERGED = [
  [configFile, merged],
  [cliFile, mergedCli],
] as const;

function parseCli(text: string, workspace: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    return z.looseObject({}).parse(parseBounded(text));
  } catch (error) {
    const message = `${join(workspace, '.cursor', cliFile)} is not valid JSON; correct or remove it.`;
    throw new SubstratError('bad_request', message, { cause: error });
  }
}

function parse(text: string, workspace: string): z.infer<typeof config> {
  if (text.trim() === '') return { mcpServers: {} };
  try {
    return config.parse(parseBounded(text));
  } catch (error) {
    const message = `${join(workspace, '.cursor', configFile)} is not a valid configuration of MCP servers; correct or remove it.`;
    throw new SubstratError('bad_request', message, { cause: error });
  }
}

function writeTexts({ instructions, longPrompt }: CursorFiles, directory: string): void {
  const head = '---\ndescription: Who you are, and how you work with others in Substrat\nalwaysApply: true\n---\n\n';
  write(join(directory, rulesFile), `${head}${instructions}\n`);
  if (longPrompt !== null) write(join(directory, promptFile), longPrompt);
}

/** Replaces whatever has that name, so that no symlink is followed. */
function write(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
}

/** Returns null if there is none. */
function readConfig(path: string): string | null {
  try {
    return readRegularText(path, { maxBytes: MAX_CONFIG, links: 'refuse' });
  } catch (error) {
    if (error instanceof UnreadableFile && error.code === 'ENOENT') return null;
    throw new SubstratError('bad_request', `${path} must be a plain file of at most 1 MiB.`, { cause: error });
  }
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
    // It contains a file of the person or the agent.
  }
}
