import type { Command } from '../core/command.ts';
import { explainRejection } from '../core/cursor-permissions.ts';
import { cursorVersionProblem, installCursorAgent } from '../core/cursor-version.ts';
import { SubstratError } from '../core/errors.ts';
import { cleanText } from '../core/text.ts';
import { classify } from './classify.ts';
import type { CursorCall } from './cursor-calls.ts';
import { type CursorAgentOptions, confine, permissionSources, placeFiles, turnArguments } from './cursor-command.ts';
import { type CursorEvent, parseCursorEvent } from './cursor-events.ts';
import { createToolCounts } from './cursor-tools.ts';
import { turnEnvironment } from './environment.ts';
import { type ProcessEnd, processFailure, runProcess } from './process.ts';
import type { Provider, ProviderEvent, Turn } from './provider.ts';
import { createTurnstile } from './turnstile.ts';
import { conclude, type Final, maxLineBytes } from './verdict.ts';

type Failed = Extract<ProviderEvent, { type: 'error' }>;

/** Of all MCP servers together. */
const MAX_TOOLS = 40;
const ASIDE_MS = 60_000;
const SESSION = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a turn tells, and at last whether it can go on. */
type Step<T> = { readonly value: T } | { readonly failure: Failed };

/**
 * Turns of Cursor's program. A chat is made and stored before the first turn, and every turn resumes it in a fresh process.
 * The final event decides. A message is told when it is complete; of one that broke off, what had come of it.
 */
export function cursorAgent(options: CursorAgentOptions): Provider {
  const turnstile = createTurnstile();
  const counts = createToolCounts();
  let versionKnown = false;

  async function* runTurn(turn: Turn): AsyncGenerator<ProviderEvent> {
    if (!versionKnown) {
      const problem = await checkVersion(options, turn);
      if (problem) return yield problem;
      versionKnown = true;
    }
    // Without a sandbox the agents of a workspace would write the same `.cursor`: they take turns.
    const leave = options.confined ? () => {} : await turnstile(turn.workspace, turn.signal);
    if (!leave) return yield { type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' };
    let putBack = () => {};
    try {
      putBack = placeFiles(options, turn);
      const tools = (await turn.countTools()) + (await counts.ask(turn, (server) => confine(options, turn, server)));
      if (tools > MAX_TOOLS) throw tooManyTools(tools);
      yield* converse(options, turn);
    } catch (error) {
      // What a person has in the workspace; whatever else was thrown is not ours to explain.
      if (!(error instanceof SubstratError && ['bad_request', 'cap_reached', 'too_large'].includes(error.code)))
        throw error;
      yield { type: 'error', kind: 'invalid_request', message: error.message };
    } finally {
      putBack();
      leave();
    }
  }

  return { name: 'cursor-agent', maxTools: MAX_TOOLS, otherTools: counts.known, runTurn };
}

async function* converse(options: CursorAgentOptions, turn: Turn): AsyncGenerator<ProviderEvent> {
  let { session } = turn;
  if (session === null) {
    const made = await createChat(options, turn);
    if ('failure' in made) return yield made.failure;
    session = made.value;
    yield { type: 'session', session };
  }
  const command = await confine(options, turn, { file: options.command, args: turnArguments(options, turn, session) });
  const { timeoutMs, signal, onSpawn } = turn;
  let final: Final | null = null;
  let unfinished = '';
  let oversized = 0;
  const begun = new Set<string>();
  for await (const output of runProcess({ command, input: '', timeoutMs, signal, onSpawn, maxLineBytes })) {
    if (output.type === 'end') {
      if (unfinished) yield { type: 'text', text: cleanText(unfinished) };
      return yield explained(conclude(output, final, oversized), output);
    }
    if (output.type === 'oversized') oversized++;
    const said: CursorEvent | null = final || output.type !== 'line' ? null : parseCursorEvent(output.text);
    if (said?.type === 'init' && said.session !== session) return yield unknownSession(session);
    if (said?.type === 'delta' && unfinished.length < maxLineBytes) unfinished += said.text;
    if (said?.type === 'message') {
      unfinished = '';
      if (said.text) yield { type: 'text', text: said.text };
    }
    if (said?.type === 'call' && said.ours === null) {
      begun.add(said.id);
      yield asCall(said);
    }
    if (said?.type === 'return') {
      // The daemon records the calls of its own tools, but what was rejected never came to it.
      if (said.ours !== null && said.rejection === null) continue;
      if (!begun.delete(said.id)) yield asCall(said);
      yield { type: 'tool_result', id: said.id, result: said.result, isError: said.isError };
      if (said.ours === null) continue;
      const message = explainRejection(said.ours, said.rejection ?? '', permissionSources(options, turn));
      return yield { type: 'error', kind: 'invalid_request', message };
    }
    if (said?.type !== 'result') continue;
    if (said.usage) yield { type: 'usage', ...said.usage };
    if (!said.isError) unfinished = '';
    final = said.isError ? failed(said.text || 'It told an error without words.') : { type: 'done', text: said.text };
  }
}

function asCall({ id, name, arguments: given }: CursorCall): ProviderEvent {
  return { type: 'tool_call', id, name, arguments: given };
}

async function createChat(options: CursorAgentOptions, turn: Turn): Promise<Step<string>> {
  const command = await confine(options, turn, { file: options.command, args: [...options.args, 'create-chat'] });
  const { lines, end } = await runAside(command, turn, turn.onSpawn);
  if (end.reason !== 'exit' || end.exitCode !== 0) return { failure: explained(processFailure(end), end) as Failed };
  const session = lines.map((line) => line.trim()).findLast((line) => SESSION.test(line));
  return session
    ? { value: session }
    : { failure: failed('cursor-agent create-chat did not answer the id of a chat.') };
}

/** On the machine itself, because nothing of an agent's is in it. */
async function checkVersion(options: CursorAgentOptions, turn: Turn): Promise<Failed | null> {
  const env = turnEnvironment(turn, options.env, options.extraEnv);
  const command = { file: options.command, args: [...options.args, '--version'], cwd: '/', env };
  const { lines, end } = await runAside(command, turn, async () => {});
  if (end.reason === 'spawn_failed' && end.message.includes('no such file')) {
    return processFailure({ ...end, message: `${end.message} ${installCursorAgent}` });
  }
  if (end.reason !== 'exit' || end.exitCode !== 0) return processFailure(end);
  const problem = cursorVersionProblem(lines.join('\n'));
  if (problem === null) return null;
  return { type: 'error', kind: 'invalid_request', message: `${options.command} cannot be used. ${problem}` };
}

async function runAside(command: Command, { timeoutMs, signal }: Turn, onSpawn: Turn['onSpawn']) {
  const lines: string[] = [];
  const limits = { timeoutMs: Math.min(timeoutMs, ASIDE_MS), maxOutputBytes: maxLineBytes };
  for await (const output of runProcess({ command, input: '', signal, onSpawn, ...limits })) {
    if (output.type === 'end') return { lines, end: output };
    if (output.type === 'line') lines.push(output.text);
  }
  throw new Error('A process has ended without an end.');
}

/** A program that tells no result has often told on stderr why not. */
function explained(final: Final, end: ProcessEnd): Final {
  return final.type === 'error' && final.kind === 'crash' && end.stderr ? { ...final, ...classify(end.stderr) } : final;
}

function failed(message: string): Failed {
  return { type: 'error', message, ...classify(message) };
}

function unknownSession(session: string): Failed {
  return { type: 'error', kind: 'bad_session', message: `cursor-agent does not know the chat ${session} any more.` };
}

function tooManyTools(tools: number): SubstratError {
  const message = `cursor-agent takes ${MAX_TOOLS} tools; Substrat's and those of the workspace's .cursor/mcp.json are ${tools}.`;
  return new SubstratError('cap_reached', message);
}
