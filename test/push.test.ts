import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from './helpers/daemon.ts';
import { until } from './helpers/until.ts';

interface Got {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A server that answers each path with the next of its statuses, then with 200. */
async function listen(statuses: Record<string, number[]>) {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    got.push({ path, headers: request.headers, body: await text(request) });
    const status = statuses[path]?.shift() ?? 200;
    response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { got, url: `http://127.0.0.1:${port}`, to: (path: string) => got.filter((one) => one.path === path) };
}

const ASK = `async ({ messages, call }) => {
  if (messages[0].kind === 'request') await call('ask_person', { question: 'The secret plan?' });
}`;

test('a webhook is signed and retried until it is accepted, ntfy is told once, and neither gets the text', {
  timeout: 30_000,
}, async () => {
  const { got, url, to } = await listen({ '/hook': [500, 302] });
  const config = `[notify]\nurl = "${url}/hook"\nsecret = "s3cret"\nntfy = "${url}/topic"\nntfy_token = "t0ken"\n`;
  const world = await startDaemon({ config });
  onTestFinished(() => world.stop());
  await world.client.createAgent({ name: 'ann', program: world.program('ann', ASK) });
  await world.client.sendMessage('ann', { text: 'go' });
  await until('three attempts', () => to('/hook').length >= 3);
  const [first, , third] = to('/hook');
  const [question] = (await world.client.listQuestions()).items;
  expect(JSON.parse(third?.body ?? '')).toEqual({
    id: question?.id,
    type: 'question_asked',
    question: {
      id: question?.id,
      kind: 'question',
      agent: 'ann',
      blocking: true,
      createdAt: question?.createdAt,
      link: null,
    },
  });
  const { 'substrat-time': time, 'substrat-id': id, 'substrat-signature': signature } = third?.headers ?? {};
  const expected = createHmac('sha256', 's3cret').update(`${id}.${time}.${third?.body}`).digest('hex');
  expect(signature).toBe(`v1=${expected}`);
  expect(first?.headers['substrat-id']).toBe(id);
  expect(to('/elsewhere')).toEqual([]);
  expect(to('/topic')).toHaveLength(1);
  expect(to('/topic')[0]).toMatchObject({
    headers: { title: 'ann asks you', authorization: 'Bearer t0ken' },
    body: expect.stringMatching(/^ann asks you, since /),
  });
  expect(JSON.stringify(got)).not.toContain('secret plan');
  const log = world.log();
  expect(log).toContain('a notification was not accepted');
  for (const secret of ['s3cret', 't0ken', '/hook', '/topic', 'secret plan']) expect(log).not.toContain(secret);
});

test('after a day of refusals nothing is sent any more, and the question still waits; links carry no authority', {
  timeout: 30_000,
}, async () => {
  const { got, url, to } = await listen({ '/hook': Array(99).fill(503) });
  let ahead = 0;
  const publicUrl = 'https://team.example.com/substrat';
  const config = `[notify]\nurl = "${url}/hook"\nsecret = "s3cret"\n`;
  const world = await startDaemon({ config, publicUrl, clock: () => Date.now() + ahead });
  onTestFinished(() => world.stop());
  await world.client.createAgent({ name: 'ann', program: world.program('ann', ASK) });
  await world.client.sendMessage('ann', { text: 'go' });
  await until('the first attempt', () => to('/hook').length >= 1);
  const [question] = (await world.client.listQuestions()).items;
  expect(JSON.parse(to('/hook')[0]?.body ?? '').question.link).toBe(`${publicUrl}/needs-me/${question?.id}`);
  const token = readFileSync(join(world.home, 'token'), 'utf8').trim();
  expect(token.length).toBeGreaterThan(20);
  expect(JSON.stringify(got)).not.toContain(token);
  const next = () => world.daemon.store.read((tx) => tx.questions.getNextTelling());
  expect(await next()).not.toBeNull();
  ahead = 25 * 3_600_000;
  await until('it gave up', async () => (await next()) === null);
  expect((await world.client.listQuestions()).items.map(({ id }) => id)).toEqual([question?.id]);
});

test('a question that was answered is not told any more; with include_text the text is sent', {
  timeout: 30_000,
}, async () => {
  const { url, to } = await listen({ '/topic': [503] });
  const world = await startDaemon({ config: `[notify]\nntfy = "${url}/topic"\ninclude_text = true\n` });
  onTestFinished(() => world.stop());
  await world.client.createAgent({ name: 'ann', program: world.program('ann', ASK) });
  await world.client.sendMessage('ann', { text: 'go' });
  await until('the first attempt', () => to('/topic').length === 1);
  expect(to('/topic')[0]?.body).toBe('The secret plan?');
  const [question] = (await world.client.listQuestions()).items;
  await world.client.answerQuestion(question?.id ?? '', 'Yes.');
  const untold = () => world.daemon.store.read((tx) => tx.questions.getNextTelling());
  await until('nothing left to tell', async () => (await untold()) === null);
  expect(to('/topic')).toHaveLength(1);
});
