import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import type { Command } from '../../core/command.ts';
import type { ScriptedTurn } from '../../core/scripted-turn.ts';
import { cleanText } from '../../core/text.ts';
import { turnEnvironment } from '../environment.ts';
import { readEvent } from '../lines.ts';
import { runProcess } from '../process.ts';
import type { Provider, ProviderEvent, Turn } from '../provider.ts';
import { conclude, type Final, maxLineBytes } from '../verdict.ts';
import { scripted as about } from './describe.ts';

export interface ScriptedOptions {
  /** Runs JavaScript and TypeScript programs. */
  readonly nodePath: string;
  /** The directory of our library for programs, which the sandbox shows to them. */
  readonly library: string;
  /** For agents without a program of their own, with `args`. */
  readonly command?: string;
  readonly args?: readonly string[];
  /** The daemon's environment; a program gets its harmless part. */
  readonly env: Readonly<Record<string, string>>;
  /** Passed to the program unchanged. */
  readonly extraEnv?: Readonly<Record<string, string>>;
}

const runByNode = /\.([cm]?js|m?ts)$/;

const text = z.string().transform(cleanText);
const count = z.number().nonnegative();
const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session'), session: z.string().min(1) }),
  z.object({ type: z.literal('text'), text }),
  z.object({ type: z.literal('tool_call'), id: z.string(), name: z.string(), arguments: z.unknown().default({}) }),
  z.object({
    type: z.literal('tool_result'),
    id: z.string(),
    result: z.unknown().default(null),
    isError: z.boolean().default(false),
  }),
  z.object({
    type: z.literal('usage'),
    inputTokens: count.int(),
    outputTokens: count.int(),
    costUsd: count.exactOptional(),
  }),
  z.object({ type: z.literal('done'), text: text.exactOptional(), stopReason: z.literal('max_steps').exactOptional() }),
  z.object({
    type: z.literal('error'),
    // Other kinds are reserved for the daemon.
    kind: z
      .enum(['auth', 'bad_session', 'context_full', 'crash', 'invalid_request', 'overloaded', 'rate_limit', 'timeout'])
      .catch('crash'),
    message: text,
    retryAfterMs: count.exactOptional(),
  }),
]);

/**
 * An agent that is a program: one JSON line on its stdin (`ScriptedTurn`), events as JSON lines on its stdout. Other
 * lines are ignored. The first `done` or `error` decides, nothing after it counts, and a `done` only counts if the
 * program then exits with 0 on its own. A `done` without text means the last `text`.
 */
export function scripted(options: ScriptedOptions): Provider {
  return { about, runTurn: (turn) => runTurn(options, turn) };
}

async function* runTurn(options: ScriptedOptions, turn: Turn): AsyncGenerator<ProviderEvent> {
  const program = turn.launch.program ?? options.command;
  if (!program)
    return yield failure('The agent does not have a program. Set --program, or `[providers.scripted] command`.');
  // Node would print a stack trace.
  if (runByNode.test(program) && !existsSync(resolve(turn.workspace, program)))
    return yield failure(`The program ${program} could not be started: there is no such file.`);

  const { timeoutMs, signal, launch } = turn;
  const { onSpawn, spawner } = launch;
  const command = await turn.launch.confine(toCommand(options, turn, program), { programs: [program] });
  let last = '';
  let final: Final | null = null;
  let oversized = 0;
  const started = { command, input: input(turn), timeoutMs, signal, onSpawn, spawner, maxLineBytes };
  for await (const output of runProcess(started)) {
    if (output.type === 'end') return yield conclude(output, final, oversized);
    if (output.type === 'oversized') oversized++;
    if (final || output.type !== 'line') continue;
    const said = readEvent(event, output.text);
    if (said?.type === 'text') last = said.text;
    if (said?.type === 'done') final = { ...said, text: said.text ?? last };
    else if (said?.type === 'error') final = said;
    else if (said) yield said;
  }
}

function toCommand(options: ScriptedOptions, turn: Turn, program: string): Command {
  const own = turn.launch.program ? [] : (options.args ?? []);
  const given = turnEnvironment(turn, options.env, options.extraEnv);
  const { workspace: cwd } = turn;
  const env = {
    ...given,
    // `substrat-tool` and what it needs.
    PATH: [join(options.library, 'bin'), given.PATH].filter(Boolean).join(':'),
    SUBSTRAT_MCP_CONFIG: turn.launch.mcpConfig,
    SUBSTRAT_NODE: options.nodePath,
  };
  if (!runByNode.test(program)) return { file: program, args: own, cwd, env };
  // Compiling TypeScript costs more than starting Node. The cache belongs to the agent, so no other agent can put
  // code into it.
  const NODE_COMPILE_CACHE = join(dirname(turn.launch.mcpConfig), 'home/.cache/node');
  // Otherwise any process of the turn could open the program's debugger with a signal and act in its place.
  const hooks = pathToFileURL(join(options.library, 'hooks.mjs')).href;
  const args = ['--disable-sigusr1', '--import', hooks, program, ...own];
  return { file: options.nodePath, args, cwd, env: { NODE_COMPILE_CACHE, ...env } };
}

function input(turn: Turn): string {
  const { runId, agentId, name, instructions, prompt, session, messages, journal } = turn;
  const { mcpConfig } = turn.launch;
  const line: ScriptedTurn = { runId, agentId, name, instructions, prompt, session, messages, journal, mcpConfig };
  return `${JSON.stringify(line)}\n`;
}

function failure(message: string): ProviderEvent {
  return { type: 'error', kind: 'crash', message };
}
