import { randomUUID } from 'node:crypto';
import { at, bearer, type Call, type Dialect, list, pieces, textOf, type Usage, word } from './model.ts';

/** OpenAI's Chat Completions API, which most other servers speak, too. */
export const chat: Dialect = {
  name: 'chat',
  matches: (path) => path.endsWith('/chat/completions'),
  keyOf: bearer,
  read: (body) => {
    const messages = list(at(body, 'messages'));
    const roleOf = (message: unknown) => word(at(message, 'role'));
    const isSystem = (message: unknown) => ['system', 'developer'].includes(roleOf(message));
    return {
      model: word(at(body, 'model')),
      stream: at(body, 'stream') === true,
      system: messages
        .filter(isSystem)
        .map((message) => textOf(at(message, 'content')))
        .join('\n'),
      messages: messages
        .filter((message) => !isSystem(message))
        .map((message) => ({
          role: roleOf(message) === 'tool' ? 'tool' : roleOf(message) === 'assistant' ? 'assistant' : 'user',
          text: textOf(at(message, 'content')),
        })),
      tools: list(at(body, 'tools')).map((tool) => word(at(tool, 'function', 'name'))),
    };
  },
  whole: ({ text, calls, usage }, model) => ({
    ...head(model, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text || null,
          ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
        },
        finish_reason: finish(calls),
      },
    ],
    usage: counts(usage),
  }),
  stream: ({ text, calls, usage }, model) => {
    const common = head(model, 'chat.completion.chunk');
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      data: { ...common, choices: [{ index: 0, delta, finish_reason }] },
    });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(text).map((content) => chunk({ content })),
      ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...toolCall(call) }] })),
      chunk({}, finish(calls)),
      { data: { ...common, choices: [], usage: counts(usage) } },
      { data: '[DONE]' },
    ];
  },
  refusal: ({ message, error }) => ({ error: { message, type: 'invalid_request_error', code: null, ...error } }),
};

function head(model: string, object: string) {
  return { id: `chatcmpl-${randomUUID()}`, object, created: 1_760_000_000, model };
}

function finish(calls: readonly Call[]): string {
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

function toolCall(call: Call) {
  const called = { name: call.name, arguments: JSON.stringify(call.arguments) };
  return { id: `call_${randomUUID()}`, type: 'function', function: called };
}

function counts({ input, output, cached = 0 }: Usage) {
  const details = { prompt_tokens_details: { cached_tokens: cached } };
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...details };
}
