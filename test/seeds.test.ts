import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { renderMessage } from '../src/core/header.ts';
import { buildInstructions } from '../src/runs/prompt.ts';
import { findTool } from '../src/tools/catalog.ts';

// The specifications that Substrat began with prescribe these texts to the letter. What `ctx agent` prints is in
// personas/ctx.test.ts, what tools return in src/tools.

/** Each tool with its parameters: the type, and the default after "=". */
const TOOLS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  send_message: { recipient: 'string', text: 'string', sync: 'boolean = true', channelId: 'string' },
  broadcast: { text: 'string' },
  check_inbox: {},
  spawn_agent: { name: 'string', instructions: 'string', role: 'string = worker', workspace_subdir: 'string | null' },
  inspect_agent: { name: 'string' },
  react_to_message: { messageId: 'string', emoji: 'string' },
  do_nothing: {},
  update_memory: { label: 'string', content: 'string' },
  search_memory: { query: 'string' },
  store_memory: { content: 'string', tags: 'array' },
};

const GUIDANCE = [
  'Tool calls return immediately with a status.',
  'Replies to sync messages arrive as your next message.',
  'Do not loop/poll waiting for replies.',
];

const DESCRIPTIONS = [
  ['send_message', 'Send a message'],
  ['check_inbox', 'Retrieve pending async messages (notifications, unsolicited messages).'],
  ['spawn_agent', 'Create a subagent'],
  ['inspect_agent', "View a subordinate's recent activity"],
  ['react_to_message', 'Add an emoji reaction to a message'],
  ['do_nothing', 'Explicitly choose not to respond.'],
] as const;

const PARAMETERS = [
  ['send_message', 'recipient', 'Agent name.'],
  ['send_message', 'text', 'Message body.'],
  ['broadcast', 'text', 'Message body.'],
] as const;

interface Parameter {
  readonly type?: string;
  readonly anyOf?: readonly Parameter[];
  readonly default?: unknown;
  readonly description?: string;
}

function parametersOf(name: string): Readonly<Record<string, Parameter>> {
  const tool = findTool(name);
  if (!tool) throw new Error(`no tool ${name}`);
  return z.toJSONSchema(tool.input, { io: 'input' }).properties as Record<string, Parameter>;
}

function typeOf({ type, anyOf, default: fallback }: Parameter): string {
  const types = anyOf?.map((one) => one.type).join(' | ') ?? type;
  return fallback === undefined || fallback === null ? `${types}` : `${types} = ${fallback}`;
}

describe('as the specifications prescribe them:', () => {
  test.each(Object.entries(TOOLS))('the parameters of %s', (name, parameters) => {
    const ours = parametersOf(name);
    expect(Object.fromEntries(Object.keys(parameters).map((key) => [key, ours[key] && typeOf(ours[key])]))).toEqual(
      parameters,
    );
  });

  test.each(DESCRIPTIONS)('the description of %s', (name, text) => {
    expect(findTool(name)?.description).toSatisfy((said: string) => said.startsWith(text));
  });

  test.each(PARAMETERS)('the description of %s %s', (name, parameter, text) => {
    expect(parametersOf(name)[parameter]?.description).toSatisfy((said: string) => said.startsWith(text));
  });

  test('what every agent is told about tools and replies', () => {
    const agent = { name: 'lead', role: 'worker', instructions: '', tools: null, provider: 'scripted' };
    const lines = buildInstructions(agent, [], []);
    for (const sentence of GUIDANCE) expect(lines).toContain(`- ${sentence}`);
  });

  test('the header of a reply', () => {
    const id = '3f2b8c1e-0000-4000-8000-00000000abcd';
    const reply = {
      id,
      from: 'worker',
      channelId: 'dm-lead-worker',
      text: 'Done.',
      kind: 'reply',
      inReplyTo: id,
    } as const;
    expect(renderMessage(reply)).toBe(`Reply from worker (to message ${id}):\nDone.`);
  });
});
