import { randomUUID } from 'node:crypto';
import {
  at,
  bearer,
  type Call,
  type Dialect,
  list,
  type ModelMessage,
  pieces,
  textOf,
  type Usage,
  word,
} from './model.ts';

/** Separates the name of a group of tools from the name of the tool. */
const GROUP = '::';

/** The OpenAI Responses API. A tool in a namespace is called `namespace::tool` here. */
export const responses: Dialect = {
  name: 'responses',
  matches: (path) => path.endsWith('/responses'),
  keyOf: bearer,
  read: (body) => {
    const input = at(body, 'input');
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : list(input);
    return {
      model: word(at(body, 'model')),
      stream: at(body, 'stream') === true,
      system: [
        word(at(body, 'instructions')),
        ...items.filter(isOfDeveloper).map((item) => textOf(at(item, 'content'))),
      ].join('\n'),
      messages: items.filter((item) => !isOfDeveloper(item)).flatMap(read),
      tools: list(at(body, 'tools')).flatMap(toolNames),
    };
  },
  whole: ({ text, calls, usage }, model) => response(model, 'completed', itemsOf(text, calls), usage),
  stream: ({ text, calls, usage }, model) => {
    const items = itemsOf(text, calls);
    const begun = response(model, 'in_progress', [], null);
    const frames: { type: string; [field: string]: unknown }[] = [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      ...items.flatMap((item, index) => [
        { type: 'response.output_item.added', output_index: index, item: { ...item, status: 'in_progress' } },
        ...deltasOf(item, index, text),
        { type: 'response.output_item.done', output_index: index, item },
      ]),
      {
        type: 'response.completed',
        response: { ...begun, ...response(model, 'completed', items, usage), id: begun.id },
      },
    ];
    return frames.map((data, sequence) => ({ event: data.type, data: { ...data, sequence_number: sequence } }));
  },
  refusal: ({ message, error }) => ({ error: { message, type: 'invalid_request_error', code: null, ...error } }),
};

type Item = { type: string; id: string; [field: string]: unknown };

function isOfDeveloper(item: unknown): boolean {
  return ['developer', 'system'].includes(word(at(item, 'role')));
}

function read(item: unknown): ModelMessage[] {
  const type = word(at(item, 'type'));
  if (type === 'function_call_output' || type === 'custom_tool_call_output')
    return [{ role: 'tool', text: textOf(at(item, 'output')) }];
  if (type !== '' && type !== 'message') return [];
  const role = at(item, 'role') === 'assistant' ? 'assistant' : 'user';
  return [{ role, text: textOf(at(item, 'content')) }];
}

function toolNames(tool: unknown): string[] {
  const name = word(at(tool, 'name'));
  if (at(tool, 'type') !== 'namespace') return name ? [name] : [];
  return list(at(tool, 'tools')).map((inner) => `${name}${GROUP}${word(at(inner, 'name'))}`);
}

function itemsOf(text: string, calls: readonly Call[]): Item[] {
  const message = (words: string): Item => ({
    type: 'message',
    id: `msg_${randomUUID()}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: words, annotations: [] }],
  });
  return [...(text ? [message(text)] : []), ...calls.map(callItem)];
}

function callItem(call: Call): Item {
  const [group, name] = call.name.includes(GROUP) ? call.name.split(GROUP) : [undefined, call.name];
  const id = randomUUID();
  return {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name,
    ...(group !== undefined && { namespace: group }),
    arguments: JSON.stringify(call.arguments),
    status: 'completed',
  };
}

function deltasOf(item: Item, output_index: number, text: string): { type: string; [field: string]: unknown }[] {
  const where = { item_id: item.id, output_index };
  if (item.type !== 'message')
    return [
      { type: 'response.function_call_arguments.delta', ...where, delta: item.arguments },
      { type: 'response.function_call_arguments.done', ...where, arguments: item.arguments },
    ];
  const part = (words: string) => ({ type: 'output_text', text: words, annotations: [] });
  return [
    { type: 'response.content_part.added', ...where, content_index: 0, part: part('') },
    ...pieces(text).map((delta) => ({ type: 'response.output_text.delta', ...where, content_index: 0, delta })),
    { type: 'response.output_text.done', ...where, content_index: 0, text },
    { type: 'response.content_part.done', ...where, content_index: 0, part: part(text) },
  ];
}

function response(model: string, status: string, output: Item[], usage: Usage | null) {
  const counts = usage && {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached ?? 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.output,
  };
  const common = { object: 'response', created_at: 1_760_000_000, error: null, incomplete_details: null };
  return { id: `resp_${randomUUID()}`, ...common, model, status, output, usage: counts };
}
