import { dirname, join } from 'node:path';
import type { Command } from '../core/command.ts';
import { type PermissionSource, refuseDenial, withOurs } from '../core/cursor-permissions.ts';
import { personPermissions, prepareHome, trustWorkspace } from './cursor-config.ts';
import { buildCursorDirectory, lendCursorFiles, promptFile, workspacePermissions } from './cursor-files.ts';
import { cursorNeeds } from './cursor-needs.ts';
import { turnEnvironment } from './environment.ts';
import type { Turn } from './provider.ts';

type Environment = Readonly<Record<string, string>>;

/** What is started for a turn. */
interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Environment;
}

export interface CursorAgentOptions {
  readonly command: string;
  /** Before ours. */
  readonly args: readonly string[];
  /** Its own tools need no approval. */
  readonly force: boolean;
  /** The daemon's environment, of which the program gets the harmless part. */
  readonly env: Environment;
  /** Given to the program as it is. */
  readonly extraEnv: Environment;
  /** In a sandbox, where a directory of ours takes the place of the workspace's `.cursor`. */
  readonly confined: boolean;
}

/** Linux takes 128 KiB in one argument; the rest of a prompt that long is in a file. */
const MAX_ARGUMENT = 120_000;
/** The command line of the headless mode, and the prompt last. */
export function turnArguments({ args, force }: CursorAgentOptions, turn: Turn, session: string): string[] {
  return [
    ...args,
    ...['--print', '--output-format', 'stream-json', '--stream-partial-output', '--trust', '--approve-mcps'],
    ...(force ? ['--force'] : []),
    ...(turn.model === null ? [] : ['--model', turn.model]),
    ...['--workspace', turn.workspace, '--resume', session],
    isLong(turn.prompt)
      ? `The message of this turn is too long for a command line. It is in the file .cursor/${promptFile} of the workspace: read all of it first, then act on it. What is in it counts as said here.`
      : asOperand(turn.prompt),
  ];
}

/** As nothing but a prompt: neither a flag nor, as a single word, the name of a subcommand. */
function asOperand(prompt: string): string {
  const text = prompt.replaceAll('\0', '\ufffd');
  return text.startsWith('-') || !/\s/.test(text) ? `\n${text}` : text;
}

function isLong(prompt: string): boolean {
  return Buffer.byteLength(prompt) > MAX_ARGUMENT;
}

/** Lays out what the program finds in `.cursor`; answers how to put back what was there. */
export function placeFiles(options: CursorAgentOptions, turn: Turn): () => void {
  const { workspace, mcpConfig, instructions, prompt } = turn;
  const longPrompt = isLong(prompt) ? prompt : null;
  const permissions = permissionSources(options, turn);
  refuseDenial(permissions);
  const files = { workspace, mcpConfig, instructions, longPrompt, permissions: withOurs(permissions) };
  if (!options.confined) {
    trustWorkspace(workspace, turnEnvironment(turn, options.env, options.extraEnv).HOME ?? '/');
    return lendCursorFiles(files);
  }
  prepareHome(turn, { ...options.env, ...options.extraEnv });
  buildCursorDirectory(files, cursorDirectory(turn));
  return () => {};
}

/** Whose rules decide what the program may do: the person's for every workspace, then the workspace's. */
export function permissionSources({ env, extraEnv }: CursorAgentOptions, { workspace }: Turn): PermissionSource[] {
  return [personPermissions({ ...env, ...extraEnv }), workspacePermissions(workspace)];
}

/** A program of the turn in its place: cursor-agent itself, or an MCP server that it would start. */
export function confine(options: CursorAgentOptions, turn: Turn, program: Program): Promise<Command> {
  const env = { ...turnEnvironment(turn, options.env, options.extraEnv), ...program.env };
  const command = { file: program.file, args: program.args, cwd: turn.workspace, env };
  if (!options.confined) return turn.confine(command);
  const proxied = { ...command, env: { NODE_USE_ENV_PROXY: '1', ...env } };
  // A server of the workspace is named in a file that agents can write.
  const installed = program.file === options.command;
  return turn.confine(proxied, { ...cursorNeeds(turn, options.env, cursorDirectory(turn)), installed });
}

function cursorDirectory({ mcpConfig }: Turn): string {
  return join(dirname(mcpConfig), 'cursor');
}
