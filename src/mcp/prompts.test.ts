import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, test } from 'vitest';
import { definePersona } from '../personas/personas.ts';
import { createRegistry } from '../personas/registry.ts';
import { readScript } from '../scripting/open.ts';
import { openScripting } from '../scripting/scripting.testkit.ts';
import { servePrompts } from './prompts.ts';

const scripting = openScripting();
const responder = definePersona({
  name: 'incident-responder',
  description: 'Helps triage',
  tools: ['search'],
  arguments: [
    { name: 'service', description: 'The service', required: true },
    { name: 'severity', description: 'P1, P2, P3', values: ['P1', 'P2', 'P3'] },
  ],
  resolve: ({ service, severity = 'P2' }) => {
    if (service === 'fail') throw new Error('on purpose');
    return {
      system: `You help with ${service} (${severity}).`,
      messages: [
        { role: 'system', content: 'A note.' },
        { role: 'assistant', content: 'Ready.' },
      ],
    };
  },
});

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

async function connect(mode: 'legacy' | 'auto') {
  const read = () => ({ entries: [], file: null });
  const log = () => undefined;
  const personas = await createRegistry({
    read,
    code: [responder],
    knowledge: undefined,
    knownTools: null,
    log,
    scripting,
    env: {},
    readScript,
  });
  const server = new Server({ name: 'test', version: '1' }, { capabilities: {} });
  servePrompts(server, personas);
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const [mine, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  await client.connect(mine);
  closing.push(async () => {
    await client.close();
  });
  return { client };
}

describe.each(['legacy', 'auto'] as const)('prompts for a client of the era %s', (mode) => {
  test('are listed, with their arguments', async () => {
    const { client } = await connect(mode);
    expect((await client.listPrompts()).prompts).toEqual([
      {
        name: 'incident-responder',
        description: 'Helps triage',
        arguments: [
          { name: 'service', description: 'The service', required: true },
          { name: 'severity', description: 'P1, P2, P3', required: false },
        ],
      },
    ]);
  });

  test('are rendered from the arguments; system texts become user messages, the system prompt first', async () => {
    const { client } = await connect(mode);
    const prompt = await client.getPrompt({ name: 'incident-responder', arguments: { service: 'x', severity: 'P1' } });
    expect(prompt).toMatchObject({
      description: 'Helps triage',
      messages: [
        { role: 'user', content: { type: 'text', text: 'You help with x (P1).' } },
        { role: 'user', content: { type: 'text', text: 'A note.' } },
        { role: 'assistant', content: { type: 'text', text: 'Ready.' } },
      ],
    });
  });

  test.each([
    ['nobody', {}, -32602, 'not_found'],
    ['incident-responder', {}, -32602, 'bad_request'],
    ['incident-responder', { service: 'fail' }, -32603, 'agent_error'],
  ])('%s with %j is error %i', async (name, args, code, ours) => {
    const { client } = await connect(mode);
    await expect(client.getPrompt({ name, arguments: args })).rejects.toMatchObject({ code, data: { code: ours } });
  });

  test('complete arguments', async () => {
    const { client } = await connect(mode);
    const complete = (name: string, value: string) =>
      client.complete({ ref: { type: 'ref/prompt', name: 'incident-responder' }, argument: { name, value } });
    expect((await complete('severity', 'p')).completion.values).toEqual(['P1', 'P2', 'P3']);
    expect((await complete('severity', 'P2')).completion.values).toEqual(['P2']);
    expect((await complete('service', '')).completion.values).toEqual([]);
  });
});
