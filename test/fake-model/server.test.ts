import { afterEach, describe, expect, test } from 'vitest';
import { obedient } from './mind.ts';
import { type FakeModel, startFakeModel } from './server.ts';

let model: FakeModel | undefined;
afterEach(async () => {
  await model?.close();
  model = undefined;
});

const user = { role: 'user' };
/** One request in each dialect: its path, the header with the key, and a body with this prompt and a tool. */
const speakers = {
  anthropic: {
    path: '/v1/messages',
    key: (key: string) => ({ 'x-api-key': key }),
    body: (prompt: string) => ({
      model: 'm',
      messages: [{ ...user, content: prompt }],
      tools: [{ name: 'mcp__substrat__look' }],
    }),
  },
  responses: {
    path: '/v1/responses',
    key: (key: string) => ({ authorization: `Bearer ${key}` }),
    body: (prompt: string) => ({
      model: 'm',
      input: [{ type: 'message', ...user, content: [{ type: 'input_text', text: prompt }] }],
      tools: [{ type: 'namespace', name: 'mcp__substrat__', tools: [{ type: 'function', name: 'look' }] }],
    }),
  },
  chat: {
    path: '/v1/chat/completions',
    key: (key: string) => ({ authorization: `Bearer ${key}` }),
    body: (prompt: string) => ({
      model: 'm',
      messages: [{ ...user, content: prompt }],
      tools: [{ type: 'function', function: { name: 'substrat_look' } }],
    }),
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    key: (key: string) => ({ 'x-goog-api-key': key }),
    body: (prompt: string) => ({
      contents: [{ ...user, parts: [{ text: prompt }] }],
      tools: [{ functionDeclarations: [{ name: 'mcp_substrat_look' }] }],
    }),
  },
};
type Name = keyof typeof speakers;
const names = Object.keys(speakers) as Name[];

async function ask(name: Name, prompt: string, { key = 'right', stream = false } = {}) {
  model ??= await startFakeModel({ key: 'right', mind: obedient });
  const speaker = speakers[name];
  const path = stream ? speaker.path.replace(':generate', ':streamGenerate') : speaker.path;
  const body = JSON.stringify({ ...speaker.body(prompt), ...(stream && { stream: true }) });
  const headers = { 'content-type': 'application/json', ...speaker.key(key) };
  const response = await fetch(`${model.url}${path}`, { method: 'POST', headers, body });
  return { status: response.status, headers: response.headers, text: () => response.text() };
}

describe.each(names)('the fake model in the dialect %s', (name) => {
  test('answers, whole and as a stream', async () => {
    const whole = await ask(name, 'Hello, model.');
    expect(await whole.text()).toContain('I heard 1: Hello, model.');
    const streamed = await ask(name, 'Hello.', { stream: true });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream');
    const text = await streamed.text();
    expect(text).toContain('I heard 1: H');
    expect(text).toContain('ello.');
  });

  test('calls the tool by the name that the program gave it', async () => {
    const text = await (await ask(name, '[[call look {"at":"it"}]]')).text();
    expect(text).toMatch(/look/);
    expect(text).toMatch(/\\?"at\\?":\s*\\?"it/);
    expect(model?.requests[0]?.tools).toEqual([expect.stringMatching(/substrat.*look$/)]);
  });

  test('checks the key', async () => {
    expect((await ask(name, 'Hello.', { key: 'wrong' })).status).toBe(401);
    expect(model?.requests).toEqual([]);
  });

  test('refuses with the status, the headers and the message that it was told', async () => {
    const refused = await ask(name, '[[http 429 {"message":"Slow down.","headers":{"retry-after":"7"}}]]');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('7');
    expect(JSON.parse(await refused.text())).toMatchObject({ error: { message: 'Slow down.' } });
  });

  test('cuts a stream off', async () => {
    const { text } = await ask(name, '[[drop]]', { stream: true });
    await expect(text()).rejects.toThrow('terminated');
  });
});
