import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { type ConnectedAgent, connectAgent } from '../../test/helpers/mcp.ts';

const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const evidence = { type: 'array', minItems: 1, maxItems: 10 };
const text = { type: 'string', maxLength: 1_000_000 };

/** The documented parameters and defaults of the tools. */
const promised: Record<string, { required: string[]; properties: Record<string, object> }> = {
  send_message: {
    required: ['text'],
    properties: {
      recipient: { type: 'string' },
      channelId: { type: 'string' },
      text,
      sync: { type: 'boolean', default: true },
      in_reply_to: { type: 'string' },
      evidence,
    },
  },
  broadcast: { required: ['text'], properties: { text } },
  check_inbox: {
    required: [],
    properties: {
      sender: { type: 'string' },
      kind: { type: 'string', enum: ['request', 'reply', 'error', 'late', 'news', 'notice'] },
    },
  },
  spawn_agent: {
    required: ['name', 'instructions'],
    properties: {
      name: { type: 'string' },
      instructions: text,
      role: { type: 'string', enum: ['worker', 'reviewer'], default: 'worker' },
      workspace_subdir: { anyOf: [{ type: 'string', maxLength: 500 }, { type: 'null' }] },
      provider: { type: 'string' },
      model: { type: 'string' },
      persona: { type: 'string' },
      arguments: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  inspect_agent: { required: ['name'], properties: { name: { type: 'string' } } },
  list_agents: { required: [], properties: {} },
  complete: { required: ['result'], properties: { result: text, evidence } },
  react_to_message: {
    required: ['messageId', 'emoji'],
    properties: { messageId: { type: 'string' }, emoji: { type: 'string' } },
  },
  do_nothing: { required: [], properties: {} },
  read_channel: {
    required: ['channelId'],
    properties: {
      channelId: { type: 'string' },
      limit: { type: 'integer', default: 20, minimum: 1, maximum: 100 },
      before: { type: 'string' },
      thread: { type: 'string' },
    },
  },
  search_messages: {
    required: ['query'],
    properties: {
      query: { type: 'string', maxLength: 10_000 },
      limit: { type: 'integer', default: 20, minimum: 1, maximum: 100 },
      since: { type: 'string' },
      until: { type: 'string' },
    },
  },
  update_memory: {
    required: ['label', 'content'],
    properties: { label: { type: 'string' }, content: { type: 'string', maxLength: 20_000 } },
  },
  search_memory: {
    required: ['query'],
    properties: {
      query: { type: 'string', maxLength: 10_000 },
      limit: { type: 'integer', minimum: 1, maximum: 100 },
      tags: { type: 'array', items: { type: 'string' } },
      since: { type: 'string' },
      until: { type: 'string' },
    },
  },
  store_memory: {
    required: ['content'],
    properties: {
      content: { type: 'string', maxLength: 20_000 },
      tags: { type: 'array', items: { type: 'string' } },
    },
  },
  search: {
    required: ['query'],
    properties: {
      query: { type: 'string', maxLength: 100_000 },
      mode: { type: 'string', enum: ['keyword', 'semantic', 'hybrid'] },
      limit: { type: 'integer', minimum: 1, maximum: 500 },
      filters: {
        type: 'object',
        properties: { source: { type: 'string' }, tags: { type: 'array' }, since: {}, until: {} },
      },
      explain: { type: 'boolean' },
    },
  },
  get: { required: ['id'], properties: { id: { type: 'string' } } },
  sources: { required: [], properties: {} },
  create_workspace: {
    required: ['name'],
    properties: {
      name: { type: 'string' },
      view_of: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      subdir: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      mode: { type: 'string', enum: ['ro', 'rw'], default: 'ro' },
    },
  },
  link_dir: {
    required: ['workspace', 'source', 'target'],
    properties: {
      workspace: { type: 'string' },
      source: { type: 'string' },
      target: { type: 'string' },
      mode: { type: 'string', enum: ['ro', 'rw'], default: 'ro' },
    },
  },
  unlink_dir: {
    required: ['workspace', 'target'],
    properties: { workspace: { type: 'string' }, target: { type: 'string' } },
  },
  list_workspaces: { required: [], properties: {} },
  delete_workspace: { required: ['name'], properties: { name: { type: 'string' } } },
  ask_person: {
    required: ['question'],
    properties: {
      question: { type: 'string' },
      options: { type: 'array' },
      details: { type: 'string' },
      blocking: { type: 'boolean', default: true },
    },
  },
  remind_me: {
    required: ['reason'],
    properties: {
      reason: { type: 'string' },
      timeout: { type: 'number' },
      at: { type: 'string' },
      every: { type: 'number' },
    },
  },
  cancel_reminder: { required: ['reminder_id'], properties: { reminder_id: { type: 'string' } } },
};

describe.each(['legacy', 'auto'] as const)('the MCP server of an agent, for a client that is %s', (era) => {
  let daemon: TestDaemon;
  let lead: ConnectedAgent;
  let worker: ConnectedAgent;

  const join = (name: string) => connectAgent({ home: daemon.home, agentId: daemon.agent(name).id, era });

  beforeAll(async () => {
    daemon = await startDaemon({
      members: { lead: {}, worker: { parent: 'lead' }, other: { parent: 'lead' }, clerk: { tools: ['list_agents'] } },
    });
    [lead, worker] = [await join('lead'), await join('worker')];
  });

  afterAll(async () => {
    await lead.close();
    await worker.close();
    await daemon.stop();
  });

  test('uses the revision that the client requests', () => {
    expect(lead.client.getServerVersion()).toEqual({ name: 'substrat', version: '0.0.0' });
    expect(lead.client.getNegotiatedProtocolVersion()).toBe(era === 'auto' ? '2026-07-28' : '2025-11-25');
  });

  test("tells a joining client the agent's role and memory", async () => {
    await daemon.client.setBlock('lead', 'mood', 'Cheerful today.');
    await using joined = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id, era });
    expect(joined.client.getInstructions()).toMatch(/^You are lead[\s\S]*### mood\nCheerful today\./);
  });

  test('lists the tools with their parameters and defaults', async () => {
    const { tools } = await lead.client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(Object.keys(promised));
    for (const { name, description, inputSchema } of tools) {
      expect(description).toMatch(/\.$/);
      expect(inputSchema).toMatchObject({
        type: 'object',
        additionalProperties: false,
        properties: promised[name]?.properties,
      });
      expect(inputSchema.required ?? []).toEqual(promised[name]?.required);
      expect(Object.keys(inputSchema.properties ?? {})).toEqual(Object.keys(promised[name]?.properties ?? {}));
    }
  });

  test('tells an external agent that requests and replies are in check_inbox', async () => {
    const { tools } = await lead.client.listTools();
    const described = Object.fromEntries(tools.map(({ name, description }) => [name, description]));
    expect(described.check_inbox).toMatch(/^Retrieve your pending messages: requests, replies to your sync messages/);
    expect(described.send_message).toContain('To answer a request from check_inbox, set `in_reply_to`');
    expect(JSON.stringify(described)).not.toContain('your next message');
  });

  test('returns the documented objects, as text and as structured content', async () => {
    const answers = {
      send_message: await lead.call('send_message', { recipient: 'worker', text: 'How far?' }),
      broadcast: await worker.call('broadcast', { text: 'I start.' }),
      check_inbox: await worker.call('check_inbox'),
      spawn_agent: await lead.call('spawn_agent', { name: `new-${era}`, instructions: 'Wait.' }),
      inspect_agent: await lead.call('inspect_agent', { name: 'other' }),
      list_agents: await worker.call('list_agents'),
    };
    for (const { value, isError, blocks } of Object.values(answers)) {
      expect(isError).toBe(false);
      expect(JSON.parse(blocks[0] ?? '')).toEqual(value);
    }
    expect(answers.send_message.value).toEqual({ status: 'sent', message_id: uuid, waiting_for_reply: true });
    expect(answers.broadcast.value).toEqual({ status: 'sent', message_id: uuid, recipient_count: 1 });
    expect(answers.check_inbox.value).toEqual({
      messages: [
        { from: 'lead', text: 'How far?', message_id: answers.send_message.value.message_id, kind: 'request' },
      ],
    });
    expect(answers.spawn_agent.value).toEqual({
      status: 'created',
      agent_id: uuid,
      name: `new-${era}`,
      note: expect.any(String),
    });
    expect(answers.inspect_agent.value).toMatchObject({ state: 'idle', recent_messages: [] });
    expect(answers.list_agents.value.agents).toContainEqual({
      name: 'lead',
      agent_id: daemon.agent('lead').id,
      role: 'worker',
      state: 'busy',
      relation: 'parent',
      pending: 0,
    });
  });

  test('returns an expected error as a result', async () => {
    const { value, isError, blocks } = await lead.call('inspect_agent', { name: 'nobody' });
    expect(isError).toBe(true);
    expect(value).toEqual({ error: { code: 'not_found', message: '"nobody" is not one of your children.' } });
    expect(JSON.parse(blocks[0] ?? '')).toEqual(value);
  });

  test('refuses an unknown tool with a protocol error', async () => {
    const before = await storeRows(daemon.home);
    for (const name of ['fly', '', 'SEND_MESSAGE', '../complete', '__proto__', 'x'.repeat(10_000), '😀\0']) {
      const refused = {
        code: -32602,
        message: expect.stringMatching(/There is no tool ".{0,80}" in the scope of lead/),
      };
      await expect(lead.call(name)).rejects.toMatchObject(refused);
    }
    expect(await storeRows(daemon.home)).toEqual(before);
  });

  test('refuses arguments that are not an object', async () => {
    for (const args of [5, 'x', [], true]) {
      const params = { name: 'list_agents', arguments: args as never };
      await expect(lead.client.callTool(params)).rejects.toMatchObject({ code: -32602 });
    }
  });

  test('accepts a call without arguments', async () => {
    expect((await lead.client.callTool({ name: 'list_agents' })).isError).toBeFalsy();
  });

  test("lists and accepts only what is in the agent's scope", async () => {
    await using clerk = await join('clerk');
    expect((await clerk.client.listTools()).tools.map((tool) => tool.name)).toEqual(['list_agents']);
    expect((await clerk.call('list_agents')).isError).toBe(false);
    const before = await storeRows(daemon.home);
    for (const name of Object.keys(promised).filter((tool) => tool !== 'list_agents')) {
      const call = clerk.call(name, { name: 'x', instructions: 'x', text: 'x', recipient: 'USER', result: 'x' });
      await expect(call, name).rejects.toMatchObject({
        code: -32602,
        message: expect.stringMatching(/no tool .* in the scope/),
      });
    }
    expect(await storeRows(daemon.home)).toEqual(before);
  });

  test("announces that an ancestor's scope was narrowed, and lists and accepts the rest", async () => {
    const { promise: announced, resolve } = Promise.withResolvers<void>();
    const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => resolve() } };
    const child = await daemon.client.createAgent({ name: `child-${era}`, provider: 'external', parent: 'worker' });
    await using joined = await connectAgent({ home: daemon.home, agentId: child.id, era, options: { listChanged } });
    expect((await joined.client.listTools()).tools.length).toBeGreaterThan(2);
    const { id } = daemon.agent('worker');
    const set = (tools: string[] | null) =>
      daemon.daemon.store.write(async (tx) => {
        await tx.agents.setScope({ id, tools });
        await tx.events.appendEvent({ type: 'agent_resumed', at: 0, agentId: id, data: { agentId: id } });
      });
    await set(['list_agents', 'do_nothing']);
    await expect(joined.call('store_memory', { content: 'x' })).rejects.toMatchObject({ code: -32602 });
    await announced;
    expect((await joined.client.listTools()).tools.map(({ name }) => name)).toEqual(['list_agents', 'do_nothing']);
    await set(null);
  });

  test('adds a block that news is waiting, until it is read', async () => {
    await worker.call('check_inbox');
    expect((await worker.call('list_agents')).blocks).toHaveLength(1);
    await lead.call('send_message', { recipient: 'worker', text: 'One.', sync: false });
    expect((await worker.call('list_agents')).blocks[1]).toBe(
      '1 message waits in your inbox. Call check_inbox to read.',
    );
    await lead.call('send_message', { recipient: 'worker', text: 'Two.', sync: false });
    const refused = await worker.call('inspect_agent', { name: 'nobody' });
    expect(refused.isError).toBe(true);
    expect(refused.blocks[1]).toBe('2 messages wait in your inbox. Call check_inbox to read.');
    const { value, blocks } = await worker.call('check_inbox');
    expect(value.messages).toMatchObject([{ text: 'One.' }, { text: 'Two.' }]);
    expect(blocks).toHaveLength(1);
    expect((await worker.call('list_agents')).blocks).toHaveLength(1);
  });

  test('refuses an unknown method with a protocol error', async () => {
    const unknown = lead.client.request({ method: 'tools/unknown' }, z.object({}));
    await expect(unknown).rejects.toMatchObject({ code: -32601 });
    expect((await lead.call('list_agents')).isError).toBe(false);
  });
});
