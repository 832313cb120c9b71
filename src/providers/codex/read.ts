import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import type { Said } from '../cli.ts';
import { type Failed, failed } from '../verdict.ts';
import { readItem } from './items.ts';

const count = z.number().int().nonnegative();
const tokens = z.object({ inputTokens: count, outputTokens: count });
const window = z.object({ usedPercent: z.number(), resetsAt: z.number().nullish() }).nullish();
const info = z.union([z.string(), z.record(z.string(), z.object({ httpStatusCode: z.number().nullish() }).catch({}))]);
const problem = z.object({ message: z.string(), codexErrorInfo: info.nullish().catch(null) });

const spoken = z.object({ type: z.literal('agentMessage').optional(), text: z.string().optional() });
const written = z.object({ content: z.array(z.object({ text: z.string() }).catch({ text: '' })) });
const item = z.object({ threadId: z.string(), item: z.looseObject({ type: z.string(), id: z.string() }) });
const schemas = {
  'turn/started': z.object({ threadId: z.string(), turn: z.object({ id: z.string() }).optional() }),
  'item/started': item,
  'item/completed': item,
  'item/agentMessage/delta': z.object({ threadId: z.string(), delta: z.string() }),
  'thread/tokenUsage/updated': z.object({
    threadId: z.string(),
    tokenUsage: z.object({ total: tokens, last: tokens }),
  }),
  'account/rateLimits/updated': z.object({ rateLimits: z.object({ primary: window, secondary: window }) }),
  'turn/completed': z.object({
    threadId: z.string(),
    turn: z.object({ status: z.string(), error: problem.nullish(), items: z.array(spoken.catch({})).optional() }),
  }),
} as const;

type Method = keyof typeof schemas;
type Params<M extends Method> = z.infer<(typeof schemas)[M]>;

interface Options {
  readonly now?: () => number;
  /** A message of the user is given to the model. */
  readonly onUserMessage?: (text: string) => void;
}

const ignore = () => undefined;

/** Reads the notifications of one turn. */
export function createReader({ now = Date.now, onUserMessage = ignore }: Options = {}) {
  let own = '';
  let turnId = '';
  let text = '';
  let isStarted = false;
  let resetsAt: number | null = null;
  const totals = new Map<string, z.infer<typeof tokens>>();

  const readers: { readonly [M in Method]: (params: Params<M>) => Said[] } = {
    // Before this, the program may not be able to resume the thread.
    'turn/started': ({ threadId, turn }) => {
      if (threadId !== own) return [];
      turnId = turn?.id ?? '';
      isStarted = true;
      return [{ type: 'session', session: own }];
    },
    'item/started': ({ threadId, item }) => {
      const { data } = item.type === 'userMessage' && threadId === own ? written.safeParse(item) : {};
      for (const { text } of data?.content ?? []) onUserMessage(text);
      return readItem(item, false);
    },
    'item/completed': ({ threadId, item }) => {
      if (item.type !== 'agentMessage') return readItem(item, true);
      // The words of another thread are not the agent's.
      if (threadId !== own || typeof item.text !== 'string') return [];
      text = cleanText(item.text);
      return [{ type: 'text', text }];
    },
    'item/agentMessage/delta': ({ threadId, delta }) =>
      threadId === own ? [{ type: 'delta', text: cleanText(delta) }] : [],
    'thread/tokenUsage/updated': ({ threadId, tokenUsage }) => {
      const before = totals.get(threadId);
      totals.set(threadId, tokenUsage.total);
      // A resumed thread first reports what its earlier turns have used.
      if (!isStarted) return [];
      return usage(before ? difference(tokenUsage.total, before) : tokenUsage.last);
    },
    'account/rateLimits/updated': ({ rateLimits: { primary, secondary } }) => {
      const full = [primary, secondary].filter((one) => one && one.usedPercent >= 100);
      const resets = full.flatMap((one) => one?.resetsAt ?? []);
      resetsAt = resets.length > 0 ? Math.max(...resets) * 1_000 : null;
      return [];
    },
    'turn/completed': ({ threadId, turn: { status, error, items = [] } }) => {
      if (threadId !== own) return [];
      if (status === 'completed')
        return [{ type: 'done', text: cleanText(items.findLast(({ text }) => text)?.text ?? text) }];
      return [
        failureOf(error ?? { message: `The turn ended as ${status}.` }, resetsAt && Math.max(0, resetsAt - now())),
      ];
    },
  };

  function readAs<M extends Method>(method: M, params: unknown): Said[] {
    const { data } = schemas[method].safeParse(params);
    return data ? readers[method](data as Params<M>) : [];
  }

  return {
    /** The turn that is running; '' before it. */
    turn: () => turnId,
    begin(thread: string): void {
      own = thread;
    },
    read: (method: string, params: unknown): Said[] => (isKnown(method) ? readAs(method, params) : []),
  };
}

function isKnown(method: string): method is Method {
  return Object.hasOwn(schemas, method);
}

const kinds: Readonly<Record<string, Failed['kind']>> = {
  usageLimitExceeded: 'rate_limit',
  rateLimitExceeded: 'rate_limit',
  contextWindowExceeded: 'context_full',
  unauthorized: 'auth',
  badRequest: 'invalid_request',
  modelNotFound: 'invalid_request',
  serverOverloaded: 'overloaded',
  internalServerError: 'overloaded',
  httpConnectionFailed: 'overloaded',
  responseStreamConnectionFailed: 'overloaded',
  responseStreamDisconnected: 'overloaded',
};

/** A status says more than the name of the error; the name says more than the words. */
function failureOf({ message, codexErrorInfo }: z.infer<typeof problem>, retryAfterMs: number | null): Failed {
  const [name, status] =
    typeof codexErrorInfo === 'string'
      ? [codexErrorInfo, null]
      : (Object.entries(codexErrorInfo ?? {}).map(([key, { httpStatusCode }]) => [key, httpStatusCode] as const)[0] ??
        []);
  const words = cleanText(message);
  const classified = failed(words, { status, retryAfterMs });
  const kind = status ? undefined : kinds[name ?? ''];
  if (!kind || kind === classified.kind) return classified;
  return {
    type: 'error',
    kind,
    message: words,
    ...(kind === 'rate_limit' && retryAfterMs !== null && { retryAfterMs }),
  };
}

function usage({ inputTokens, outputTokens }: z.infer<typeof tokens>): Said[] {
  return inputTokens + outputTokens > 0 ? [{ type: 'usage', inputTokens, outputTokens }] : [];
}

function difference(now: z.infer<typeof tokens>, before: z.infer<typeof tokens>): z.infer<typeof tokens> {
  return {
    inputTokens: Math.max(0, now.inputTokens - before.inputTokens),
    outputTokens: Math.max(0, now.outputTokens - before.outputTokens),
  };
}
