import type { Answer, Call, Mind, ModelRequest } from './model.ts';

/**
 * A model that does what the newest prompt with double brackets says, one thing per request:
 *
 * - `[[call TOOL {…}]]` calls the offered tool whose name ends with TOOL, whatever prefix the program gives it
 * - `[[say TEXT]]` says it and goes on
 * - `[[http 429 {"message": …, "headers": …, "error": …}]]`, `[[drop]]`, `[[hang]]`
 *
 * Afterwards it answers with the results of the calls, or with how many prompts it has seen.
 */
export const obedient: Mind = (request) => {
  const { messages } = request;
  const prompts = messages.filter(({ role, text }) => role === 'user' && !isContext(text));
  const newest = messages.findLastIndex(({ role, text }) => role === 'user' && text.includes('[['));
  const since = messages.slice(newest + 1);
  const results = since.filter(({ role }) => role === 'tool');
  const orders = newest === -1 ? [] : ordersIn(messages[newest]?.text ?? '');
  const isNew = !since.some(({ role, text }) => role === 'user' && !isContext(text));
  const order = isNew ? orders[results.length] : undefined;
  if (order) return obey(order, request);
  if (isNew && results.length > 0) return { text: results.map(({ text }) => text).join('\n') };
  return { text: `I heard ${prompts.length}: ${prompts.at(-1)?.text.trim().split('\n').at(-1) ?? ''}` };
};

interface Order {
  readonly what: string;
  readonly rest: string;
}

function ordersIn(text: string): Order[] {
  return [...text.matchAll(/\[\[(\w+)\s*([\s\S]*?)\]\]/g)].map(([, what = '', rest = '']) => ({ what, rest }));
}

function obey({ what, rest }: Order, request: ModelRequest): Answer {
  switch (what) {
    case 'call':
      return { calls: [callOf(rest, request)] };
    case 'say':
      return { text: rest };
    case 'drop':
      return { text: 'This text is cut off in the middle of its stream.', drop: true };
    case 'hang':
      return 'hang';
    case 'http': {
      const [, status, more] = /^(\d+)\s*([\s\S]*)$/.exec(rest) ?? [];
      return { status: Number(status), message: 'The model refuses.', ...JSON.parse(more || '{}') };
    }
    default:
      return { status: 400, message: `The fake model does not know the order ${what}.` };
  }
}

/** Programs add a prefix to the names of MCP tools: `mcp__substrat__send_message`, `substrat_send_message`. */
function callOf(rest: string, { tools }: ModelRequest): Call {
  const [, tool = '', args] = /^(\w+)\s*([\s\S]*)$/.exec(rest) ?? [];
  const named = tools.filter((name) => name === tool || name.endsWith(tool));
  const name = named.find((one) => one.includes('substrat')) ?? named[0] ?? tool;
  return { name, arguments: JSON.parse(args || '{}') };
}

/** Programs send more than the prompt as messages of the user. */
function isContext(text: string): boolean {
  return text.trim() === '' || /^\s*<([\w-]+)[^>]*>[\s\S]*<\/\1>\s*$/.test(text) || text.startsWith('# AGENTS.md');
}
