import * as z from 'zod';
import { SERVER } from '../calls.ts';
import type { Dialogue, Said } from '../cli.ts';
import { readServer } from '../mcp-config.ts';
import type { Turn } from '../provider.ts';
import { createRpc, type Incoming, type RpcError } from '../rpc.ts';
import { type Failed, failed } from '../verdict.ts';
import { toolCall } from './calls.ts';
import { createGuarding } from './guarding.ts';
import { choiceOf, opened } from './model.ts';
import { createUpdates } from './updates.ts';

/** The protocol's number for "log in first". */
const AUTH_REQUIRED = -32000;
const UNKNOWN_METHOD = -32601;
/** Some programs go on running after the end of their stdin. */
const GRACE_MS = 1_000;

const initialized = z.looseObject({
  protocolVersion: z.number(),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().catch(false).default(false),
      sessionCapabilities: z.looseObject({ resume: z.unknown().optional() }).catch({}).default({}),
    })
    .catch({ loadSession: false, sessionCapabilities: {} })
    .default({ loadSession: false, sessionCapabilities: {} }),
  authMethods: z
    .array(z.looseObject({ id: z.string() }))
    .catch([])
    .default([]),
});
const permission = z.object({
  toolCall,
  options: z.array(z.object({ optionId: z.string(), kind: z.string() })),
});
const count = z.number().int().nonnegative().catch(0).default(0);
const tokens = z.object({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: count,
  cachedWriteTokens: count,
});
const quota = z.object({ token_count: z.object({ input_tokens: count, output_tokens: count }) });
const answered = z.looseObject({
  stopReason: z.string(),
  usage: tokens.nullish().catch(null),
  _meta: z
    .looseObject({ quota: quota.nullish().catch(null) })
    .nullish()
    .catch(null),
});

type Initialized = z.infer<typeof initialized>;

export interface AcpPolicy {
  readonly name: string;
  readonly ownTools: boolean;
  readonly authMethod: string | null;
  /** The cost of a session so far, in dollars; programs report the sum of all turns. */
  readonly costs: Map<string, number>;
}

/**
 * One turn by the Agent Client Protocol: initialize, log in if configured, open the session (`session/resume`, else
 * `session/load`, else a new one), choose the model, prompt. Every question is answered immediately.
 */
export function createDialogue(policy: AcpPolicy, turn: Turn, session: string | null): Dialogue {
  const rpc = createRpc({ jsonrpc: '2.0' });
  const updates = createUpdates();
  const guarding = createGuarding(turn, policy.name);
  let own = '';
  let isPrompted = false;
  let hasReplayed = false;
  let canResume = false;

  function ended(...said: Said[]): Said[] {
    rpc.close();
    return said;
  }

  /** Asks for something without which there is no turn. */
  function need(method: string, params: object, then: (result: unknown) => readonly Said[]): void {
    rpc.request(method, params, ({ result, error }) => (error ? ended(failureOf(error)) : then(result)));
  }

  function open(about: Initialized): readonly Said[] {
    const server = readServer(turn.launch.mcpConfig);
    const mcpServers = server
      ? [
          {
            name: SERVER,
            command: server.command,
            args: server.args,
            env: Object.entries(server.env).map(([name, value]) => ({ name, value })),
          },
        ]
      : [];
    const place = { cwd: turn.workspace, mcpServers };
    const { loadSession, sessionCapabilities } = about.agentCapabilities;
    const resumes = sessionCapabilities.resume !== undefined && sessionCapabilities.resume !== null;
    canResume = resumes || loadSession;
    if (session === null) {
      need('session/new', place, (result) => choose(opened.safeParse(result).data));
      return [];
    }
    const known = { sessionId: session, ...place };
    const load = (): readonly Said[] => {
      if (!loadSession) return ended(lost(session));
      rpc.request('session/load', known, ({ result, error }) =>
        // Some programs answer well for a session that they do not have: one that is there repeats its messages.
        error || !hasReplayed
          ? ended(lost(session, error))
          : choose({ ...opened.safeParse(result ?? {}).data, sessionId: session }),
      );
      return [];
    };
    if (!resumes) return load();
    rpc.request('session/resume', known, ({ result, error }) =>
      error ? load() : choose({ ...opened.safeParse(result ?? {}).data, sessionId: session }),
    );
    return [];
  }

  function choose(place: z.infer<typeof opened> | undefined): readonly Said[] {
    if (place?.sessionId === undefined) return ended(failed('It did not name its session.'));
    own = place.sessionId;
    const choice = choiceOf(place, turn.model);
    if (choice === 'current') return prompt();
    if (choice === null) {
      const message = `${policy.name} offers no choice of a model. Set the model in \`args\` or \`env\` of [providers.${policy.name}], and none for the agent.`;
      return ended({ type: 'error', kind: 'invalid_request', message });
    }
    need(choice.method, { sessionId: own, ...choice.params }, prompt);
    return [];
  }

  function prompt(): readonly Said[] {
    updates.begin(own);
    isPrompted = true;
    const spent = updates.cost() ?? (session === null ? 0 : (policy.costs.get(own) ?? null));
    const text = [instructed(turn.instructions), turn.prompt].map((words) => ({ type: 'text', text: words }));
    rpc.request('session/prompt', { sessionId: own, prompt: text }, ({ result, error }) => {
      const { said, text: final } = updates.end();
      if (error) return ended(...said, failureOf(error));
      const { data } = answered.safeParse(result);
      if (!data) return ended(...said, failed('It ended the turn without a reason.'));
      const cost = costOf(spent, updates.cost());
      if (updates.cost() !== null) policy.costs.set(own, updates.cost() ?? 0);
      return ended(...named(), ...said, ...usageOf(data, cost), finalOf(data.stopReason, final));
    });
    return [];
  }

  /** A session can only be resumed once the program has something of its turn. */
  function named(): Said[] {
    if (!isPrompted) return [];
    return canResume ? [{ type: 'session', session: own }] : [{ type: 'forgets' }];
  }

  function decide(question: Incoming): Said[] {
    const { data } = permission.safeParse(question.params);
    const answer = (isAllowed: boolean, message?: string): void => {
      const wanted = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
      const option = wanted.flatMap((kind) => data?.options.find((one) => one.kind === kind) ?? [])[0];
      const outcome = option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' };
      rpc.answer(question, { outcome, ...(message !== undefined && { _meta: { substrat: { message } } }) });
    };
    if (!data) answer(false);
    else if (guarding.isOurs(data.toolCall)) answer(true);
    else if (!policy.ownTools) answer(false);
    else guarding.decide(data.toolCall, answer);
    return data && isPrompted ? updates.asked(data.toolCall) : [];
  }

  function heard(incoming: Incoming): readonly Said[] {
    if (incoming.method === 'session/request_permission' && incoming.id !== null) return decide(incoming);
    if (incoming.id !== null) {
      if (incoming.method === 'elicitation/create') rpc.answer(incoming, { action: 'decline' });
      else rpc.refuse(incoming, UNKNOWN_METHOD, 'It is not offered. Go on without it.');
      return [];
    }
    if (incoming.method !== 'session/update') return [];
    const { said, isReplay } = updates.heard(incoming.params);
    hasReplayed ||= isReplay;
    const problem = isPrompted ? guarding.unasked(incoming.params) : null;
    const stop: Said[] = problem ? [{ type: 'stop', failure: problem }] : [];
    return said.length > 0 ? [...named(), ...said, ...stop] : stop;
  }

  const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
  const clientInfo = { name: 'substrat', title: 'Substrat', version: '1' };
  need('initialize', { protocolVersion: 1, clientCapabilities, clientInfo }, (result) => {
    const { data } = initialized.safeParse(result);
    if (data?.protocolVersion !== 1) return ended(failed('It does not speak version 1 of the Agent Client Protocol.'));
    if (policy.authMethod === null) return open(data);
    need('authenticate', { methodId: policy.authMethod }, () => open(data));
    return [];
  });

  return { input: rpc.input, parse: (line) => rpc.read(line, heard), graceMs: GRACE_MS };
}

function instructed(instructions: string): string {
  return `Your instructions, as of this turn:\n\n${instructions}`;
}

function lost(session: string, error?: RpcError): Failed {
  const why = error ? `: ${error.message}` : '.';
  return { type: 'error', kind: 'bad_session', message: `The session ${session} cannot be resumed${why}` };
}

/** The protocol's words for an error of any kind; they do not mean an error of the model's server. */
const INTERNAL = /^Internal error(: *|$)/;
const detail = z.looseObject({ message: z.string().optional(), details: z.string().optional() });

/** The code may be the HTTP status of the model's answer; what happened is often only in the data. */
function failureOf({ code, message, data }: RpcError): Failed {
  if (code === AUTH_REQUIRED)
    return { type: 'error', kind: 'auth', message: `It needs a login: ${message}. Log in with the program itself.` };
  const { data: more } = detail.safeParse(data);
  const told = message.replace(INTERNAL, '');
  const words = [told, typeof data === 'string' ? data : (more?.details ?? more?.message)].filter(Boolean);
  if (words.length === 0)
    return { type: 'error', kind: 'crash', message: 'The program reported an error without a message.' };
  const status = code !== undefined && code >= 400 && code < 600 ? code : null;
  return failed([...new Set(words)].join(': '), { status });
}

function finalOf(reason: string, text: string): Said {
  if (reason === 'max_turn_requests') return { type: 'done', text, stopReason: 'max_steps' };
  if (reason === 'end_turn' || reason === 'max_tokens') return { type: 'done', text };
  if (reason === 'refusal') return { type: 'error', kind: 'invalid_request', message: `The model refused. ${text}` };
  return failed(`The program ended the turn as "${reason}".`);
}

/** What this turn has cost, if the program counts the session: a smaller number is of this turn alone. */
function costOf(before: number | null, after: number | null): number | undefined {
  if (after === null || before === null) return undefined;
  return after >= before ? after - before : after;
}

function usageOf({ usage, _meta }: z.infer<typeof answered>, costUsd: number | undefined): Said[] {
  const told = _meta?.quota?.token_count;
  const inputTokens = usage
    ? usage.inputTokens + usage.cachedReadTokens + usage.cachedWriteTokens
    : (told?.input_tokens ?? 0);
  const outputTokens = usage?.outputTokens ?? told?.output_tokens ?? 0;
  if (inputTokens + outputTokens === 0 && !costUsd) return [];
  return [{ type: 'usage', inputTokens, outputTokens, ...(costUsd !== undefined && { costUsd }) }];
}
