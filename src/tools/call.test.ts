import { randomUUID } from 'node:crypto';
import type { JsonSchemaType } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { type AgentCall, type ConnectedAgent, connectAgent } from '../../test/helpers/mcp.ts';
import type { ErrorCode } from '../core/errors.ts';

/** Errors that an agent can cause; the other codes concern the daemon. */
const codes: readonly ErrorCode[] = [
  'bad_request',
  'cap_reached',
  'embeddings_disabled',
  'conflict',
  'forbidden',
  'has_children',
  'name_taken',
  'not_found',
  'terminated',
  'too_large',
  'unsupported',
];

const long = 'x'.repeat(10_000);
const limits = '[limits]\ntool_calls_per_minute = 1000000\nmax_children = 100000\nmax_agents = 100000\n';
const names = ['lead', 'LEAD', 'worker', 'other', 'clerk', 'USER', 'user', 'system', 'substrat'];
const strings = [
  ...[
    '',
    ' ',
    '\n\t\u3000',
    '\0',
    'a\0b',
    '\ud800',
    'x\udc00x',
    'ok\ud83d',
    '\u202e',
    '\ufeff',
    '😀',
    '"',
    "';--",
    '%00',
  ],
  ...['.', '..', '../..', '/', '/etc', 'a/b', 'a/../../b', 'a\\b', '-x', '_x', 'x'.repeat(64), 'x'.repeat(65)],
  ...[long, '__proto__', 'constructor', 'toString', 'worker', 'reviewer', 'true', 'null', randomUUID()],
];
const value = fc.oneof(
  fc.constantFrom(...names),
  fc.constantFrom(...strings),
  fc.string({ unit: 'binary' }),
  fc.jsonValue(),
);

const tools = [
  ...['send_message', 'broadcast', 'check_inbox', 'spawn_agent', 'inspect_agent', 'list_agents', 'complete'],
  ...['react_to_message', 'do_nothing', 'read_channel', 'search_messages'],
  ...['update_memory', 'search_memory', 'store_memory', 'search', 'get', 'sources'],
  ...['create_workspace', 'link_dir', 'unlink_dir', 'list_workspaces', 'delete_workspace'],
  ...['ask_person', 'remind_me', 'cancel_reminder'],
  ...['gate', 'ungate', 'permit_turn', 'poke', 'set_agent_metadata', 'subscribe', 'unsubscribe'],
];
/** With random arguments, it would end the agents that call. */
const ending = 'terminate_agent';
const keys = [
  'recipient',
  'channelId',
  'messageId',
  'emoji',
  'before',
  'thread',
  'text',
  'sync',
  'in_reply_to',
  'name',
  'instructions',
  'role',
  'workspace_subdir',
  'result',
  'view_of',
  'source',
  'target',
  'label',
  'content',
  'query',
  'mode',
  'limit',
  'filters',
  'id',
  'tags',
];

interface Property {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
}

interface Schema {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

async function schemaOf(agent: ConnectedAgent, tool: string): Promise<Schema> {
  const listed = (await agent.client.listTools()).tools.find(({ name }) => name === tool);
  if (!listed) throw new Error(`${tool} is not listed.`);
  return listed.inputSchema as Schema;
}

function usualOf({ type, enum: choices }: Property): unknown {
  if (choices) return choices[0];
  if (type === 'boolean') return true;
  return type === 'number' || type === 'integer' ? 1 : 'worker';
}

/** Arguments that match a schema, sometimes with a wrong, missing or extra value. */
function argumentsFor(schema: Schema): fc.Arbitrary<Record<string, unknown>> {
  const entries = Object.entries(schema.properties ?? {}).map(([key, property]) => {
    return [key, fc.oneof({ arbitrary: plausible(property), weight: 3 }, { arbitrary: value, weight: 1 })] as const;
  });
  const shaped = fc.record(Object.fromEntries(entries), { requiredKeys: [...(schema.required ?? [])] });
  const loose = fc.record(Object.fromEntries(entries), { requiredKeys: [] });
  const extra = fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), value, { maxKeys: 2 });
  return fc.oneof(
    shaped,
    loose,
    fc.tuple(shaped, extra).map(([a, b]) => ({ ...a, ...b })),
    extra,
  );
}

function plausible({ type, enum: choices }: Property): fc.Arbitrary<unknown> {
  if (choices) return fc.constantFrom(...choices);
  if (type === 'boolean') return fc.boolean();
  return fc.oneof(
    fc.constantFrom(...names),
    fc.string({ minLength: 1 }),
    fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/),
  );
}

// On PostgreSQL, where this file runs again, each call takes longer.
const numRuns = process.env.SUBSTRAT_TEST_ENGINE === 'postgres' ? 30 : 80;

describe('tools', () => {
  let daemon: TestDaemon;
  let agents: ConnectedAgent[];

  beforeAll(async () => {
    const members = {
      lead: { tools: [...tools, ending] },
      worker: { parent: 'lead', tools },
      other: { parent: 'lead', tools },
      clerk: { parent: 'worker' },
    };
    daemon = await startDaemon({ config: limits, members });
    const join = (name: string) => connectAgent({ home: daemon.home, agentId: daemon.agent(name).id });
    agents = [await join('lead'), await join('worker'), await join('other')];
  });

  afterAll(async () => {
    for (const agent of agents ?? []) await agent.close();
    await daemon?.stop();
  });

  test.each(tools)('%s: any arguments give a result or an expected error, as its schema says', async (tool) => {
    const [lead] = agents as [ConnectedAgent];
    const schema = await schemaOf(lead, tool);
    const validate = new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType);
    const whose = fc.constantFrom(...agents);
    await fc.assert(
      fc.asyncProperty(whose, argumentsFor(schema), async (agent, args) => {
        // The SDK drops this key, so no tool ever sees it.
        fc.pre(!Object.hasOwn(args, '__proto__'));
        const call = await agent.call(tool, args);
        expectWellFormed(call);
        const refusedByShape = call.value.error?.message.startsWith(`${tool}: `) ?? false;
        expect(refusedByShape, JSON.stringify(call.value)).toBe(!validate(JSON.parse(JSON.stringify(args))).valid);
      }),
      { numRuns },
    );
    expect(daemon.log()).not.toMatch(/"level":50/);
  });

  test('the list above has every tool', async () => {
    const [lead] = agents as [ConnectedAgent];
    const listed = (await lead.client.listTools()).tools.map(({ name }) => name);
    expect(listed.toSorted()).toEqual([...tools, ending].toSorted());
  });

  test.each([...tools, ending])('%s: an error does not repeat a long argument', async (tool) => {
    const [lead] = agents as [ConnectedAgent];
    const { properties = {}, required = [] } = await schemaOf(lead, tool);
    const usual = Object.fromEntries(required.map((key) => [key, usualOf(properties[key] ?? {})]));
    for (const key of Object.keys(properties)) expectWellFormed(await lead.call(tool, { ...usual, [key]: long }));
  });

  test('any JSON as arguments of any tool gets a response', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...agents),
        fc.constantFrom(...tools),
        fc.jsonValue(),
        async (agent, tool, args) => {
          const call = agent.call(tool, args as Record<string, unknown>).catch((error) => error as { code: number });
          const answer = await call;
          if ('code' in answer) expect(answer.code).toBe(-32602);
          else expectWellFormed(answer);
        },
      ),
      { numRuns },
    );
    expect(daemon.log()).not.toMatch(/"level":50/);
  });
});

function expectWellFormed({ value, isError, blocks }: AgentCall): void {
  expect(JSON.parse(blocks[0] ?? '')).toEqual(value);
  expect(isError).toBe('error' in value);
  if (value.error === undefined) return;
  expect(codes).toContain(value.error.code);
  expect(value.error.message).toMatch(/\S/);
  expect(value.error.message.length).toBeLessThan(1_500);
}

describe('a refused call', () => {
  test('leaves the store unchanged, except for its shortened record', async () => {
    await using daemon = await startDaemon({ members: { lead: {}, worker: { parent: 'lead' } } });
    await using lead = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id });
    await using worker = await connectAgent({ home: daemon.home, agentId: daemon.agent('worker').id });
    const before = await storeRows(daemon.home);
    const veryLong = 'x'.repeat(2_000_000);
    const refused: [ConnectedAgent, string, Record<string, unknown>, string][] = [
      [lead, 'send_message', { recipient: 'nobody', text: 'x' }, 'not_found'],
      [lead, 'send_message', { recipient: 'worker', text: veryLong }, 'bad_request'],
      [lead, 'send_message', { recipient: 'worker', text: 'x', in_reply_to: randomUUID() }, 'not_found'],
      [worker, 'send_message', { recipient: 'USER', text: 'x' }, 'forbidden'],
      [lead, 'broadcast', { text: 'x' }, 'bad_request'],
      [lead, 'spawn_agent', { name: 'Worker', instructions: 'x', workspace_subdir: 'new/one' }, 'name_taken'],
      [lead, 'spawn_agent', { name: 'system', instructions: 'x', workspace_subdir: 'new' }, 'bad_request'],
      [lead, 'spawn_agent', { name: 'ok', instructions: 'x', workspace_subdir: '../x' }, 'forbidden'],
      [lead, 'inspect_agent', { name: 'lead' }, 'not_found'],
      [lead, 'complete', { result: 'x' }, 'has_children'],
      [lead, 'check_inbox', { [veryLong]: 1 }, 'bad_request'],
      [lead, 'check_inbox', JSON.parse(`{"a":${'['.repeat(60)}${']'.repeat(60)}}`), 'bad_request'],
    ];
    for (const [agent, tool, args, code] of refused) {
      expect((await agent.call(tool, args)).value, tool).toEqual({
        error: { code, message: expect.stringMatching(/\.$/) },
      });
    }
    expect(await storeRows(daemon.home)).toEqual(before);
    const records = await daemon.daemon.store.read((tx) =>
      tx.records.listRecentRecords({ agentId: daemon.agent('lead').id, limit: 100 }),
    );
    expect(records.map(({ type }) => type)).toEqual(
      refused.slice(1).flatMap(() => ['tool_return_message', 'tool_call_message']),
    );
    expect(Math.max(...records.map(({ content }) => JSON.stringify(content).length))).toBeLessThan(10_000);
  });
});
