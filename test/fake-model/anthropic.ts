import { randomUUID } from 'node:crypto';
import { at, bearer, type Dialect, list, type ModelMessage, pieces, textOf, word } from './model.ts';

/** The Anthropic Messages API. */
export const anthropic: Dialect = {
  name: 'anthropic',
  matches: (path) => path.endsWith('/v1/messages'),
  keyOf: (headers) => (headers['x-api-key'] === undefined ? bearer(headers) : `${headers['x-api-key']}`),
  read: (body) => ({
    model: word(at(body, 'model')),
    stream: at(body, 'stream') === true,
    system: textOf(at(body, 'system')),
    messages: list(at(body, 'messages')).flatMap(read),
    tools: list(at(body, 'tools')).map((tool) => word(at(tool, 'name'))),
  }),
  whole: ({ text, calls, usage }, model) => ({
    ...head(model, usage),
    content: [...(text ? [{ type: 'text', text }] : []), ...calls.map(toolUse)],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: counts(usage),
  }),
  stream: ({ text, calls, usage }, model) => {
    const blocks = [
      ...(text ? [{ start: { type: 'text', text: '' }, deltas: pieces(text).map((piece) => textDelta(piece)) }] : []),
      ...calls.map((call) => ({
        start: { ...toolUse(call), input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(call.arguments) }],
      })),
    ];
    const frames: { type: string; [field: string]: unknown }[] = [
      { type: 'message_start', message: head(model, usage) },
      ...blocks.flatMap(({ start, deltas }, index) => [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: { output_tokens: usage.output },
      },
      { type: 'message_stop' },
    ];
    return frames.map((data) => ({ event: data.type, data }));
  },
  refusal: ({ status, message, error }) => ({
    type: 'error',
    error: { type: types[status] ?? 'api_error', message, ...error },
  }),
};

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function read(message: unknown): ModelMessage[] {
  // Programs put notes of their own between the messages.
  if (at(message, 'role') === 'system') return [];
  const role = word(at(message, 'role')) === 'assistant' ? ('assistant' as const) : ('user' as const);
  const content = at(message, 'content');
  if (typeof content === 'string') return [{ role, text: content }];
  return list(content).map((part) =>
    at(part, 'type') === 'tool_result'
      ? { role: 'tool', text: textOf(at(part, 'content')) }
      : { role, text: word(at(part, 'text')) },
  );
}

function head(model: string, usage: { input: number; cached?: number }) {
  const id = `msg_${randomUUID()}`;
  const common = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
  return { ...common, usage: counts({ ...usage, output: 1 }) };
}

function counts({ input, output, cached = 0 }: { input: number; output: number; cached?: number }) {
  const cache = { cache_creation_input_tokens: 0, cache_read_input_tokens: cached };
  return { input_tokens: input - cached, ...cache, output_tokens: output };
}

function toolUse(call: { name: string; arguments: unknown }) {
  return { type: 'tool_use', id: `toolu_${randomUUID()}`, name: call.name, input: call.arguments };
}

function textDelta(text: string) {
  return { type: 'text_delta', text };
}
