import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { connectAgent } from '../helpers/mcp.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { type PostgresProxy, startPostgresProxy } from '../helpers/postgres-proxy.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');

describeOnPostgres('a daemon whose PostgreSQL fails', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let proxy: PostgresProxy;
  let prompt: pg.Client;

  beforeEach(async () => {
    database = await createDatabase();
    proxy = await startPostgresProxy(database.url);
    prompt = new pg.Client({ connectionString: database.url });
    await prompt.connect();
  });
  afterEach(async () => {
    await prompt.end();
    await proxy[Symbol.asyncDispose]();
    await database.drop();
  });

  const count = async (text: string) =>
    (await prompt.query('select from messages where text = $1', [text])).rowCount as number;

  test('returns 503 within 10 seconds when nothing responds, works again afterwards, and stops on SIGTERM meanwhile', {
    timeout: 90_000,
  }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'outage-'));
    const home = join(directory, 'home');
    mkdirSync(home, { mode: 0o700 });
    const config = join(directory, 'outage.toml');
    writeFileSync(config, `[db]\nurl = "${proxy.url}"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n`);
    const daemon = await startDaemonProcess({ home, config });
    onTestFinished(async () => {
      await daemon.kill();
      rmSync(directory, { recursive: true, force: true });
    });
    await daemon.client.createAgent({ name: 'ann', provider: 'external' });
    const program = join(directory, 'slow.ts');
    writeFileSync(
      program,
      `import { runAgent } from '${SCRIPTED}';\nawait runAgent(() => new Promise((resolve) => setTimeout(resolve, 600_000, 'late')));\n`,
    );
    await daemon.client.createAgent({ name: 'slow', provider: 'scripted', program });
    const post = (text: string) => ask({ home }, '/api/agents/ann/messages', { method: 'POST', body: { text } });
    const read = () => ask({ home }, '/api/agents');
    const timed = async (request: Promise<Awaited<ReturnType<typeof ask>>>) => {
      const begun = Date.now();
      const { status, json } = await request;
      return { status, code: json?.error?.code, inTime: Date.now() - begun < 10_000 };
    };

    proxy.mode = 'hole';
    const failed = { status: 503, code: 'store', inTime: true };
    for (const answer of await Promise.all([read(), post('one'), read(), post('two')].map(timed))) {
      expect(answer).toEqual(failed);
    }
    expect(await timed(read())).toEqual(failed);
    expect((await ask({ home }, '/health')).status).toBe(200);

    proxy.mode = 'closed';
    proxy.cut();
    expect(await timed(read())).toEqual(failed);
    expect(await timed(post('three'))).toEqual(failed);

    proxy.mode = 'open';
    await until('it answers again', async () => (await read()).status === 200);
    expect((await post('four')).status).toBe(201);
    const counts: number[] = [];
    for (const text of ['one', 'two', 'three', 'four']) counts.push(await count(text));
    expect(counts).toEqual([0, 0, 0, 1]);

    await daemon.client.sendMessage('slow', { text: 'take your time' });
    await until('a turn is under way', async () => (await daemon.client.getAgent('slow')).state === 'busy');
    proxy.mode = 'hole';
    const begun = Date.now();
    expect(await daemon.stop()).toBe(0);
    expect(Date.now() - begun).toBeLessThan(40_000);
  });

  test('returns the true result of an MCP call whose commit was cut, so that a repeated call never takes effect twice', async () => {
    await using world = await startDaemon({ database: proxy.url, members: { ann: {} } });
    await using agent = await connectAgent({ home: world.home, agentId: world.agent('ann').id });
    const send = (text: string) => agent.call('send_message', { recipient: 'USER', text });
    await send('before');
    for (const text of ['first text', 'second text', 'third text']) {
      const cuts = proxy.cuts;
      proxy.about = text;
      proxy.mode = 'cut after commit';
      expect(await send(text)).toMatchObject({ isError: false, value: { message_id: expect.any(String) } });
      expect(proxy.cuts).toBe(cuts + 1);
      expect(await count(text)).toBe(1);
    }
    for (const text of ['fourth text', 'fifth text', 'sixth text']) {
      proxy.about = text;
      proxy.mode = 'cut before commit';
      expect(await send(text)).toMatchObject({ isError: true, value: { error: { code: 'store' } } });
      expect(await count(text)).toBe(0);
      expect(await send(text)).toMatchObject({ isError: false });
      expect(await count(text)).toBe(1);
    }
  });

  test('delivers events and replies of other nodes after its connections were cut', async () => {
    await using one = await startDaemon({ database: database.url, members: { ann: {} } });
    await using other = await startDaemon({ database: proxy.url });
    await using agent = await connectAgent({ home: one.home, agentId: one.agent('ann').id });
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of other.client.followEvents({ signal: stop.signal })) seen.push(event.type);
    })();
    const { messageId } = await one.client.sendMessage('ann', { text: 'are you there?' });
    // A wait that begins or ends during an outage is refused and repeated.
    const awaitReply = (): ReturnType<typeof other.client.awaitReply> =>
      other.client.awaitReply(messageId, 60).catch((error) => {
        if (error.code !== 'store') throw error;
        return awaitReply();
      });
    const reply = awaitReply();
    await until('the other node has seen the question', () => seen.includes('message_created'));

    proxy.mode = 'closed';
    proxy.cut();
    await agent.call('check_inbox');
    await agent.call('send_message', { recipient: 'USER', text: 'yes', in_reply_to: messageId });
    await until('it is noticed', () => other.log().includes('PostgreSQL cannot be reached'));
    seen.length = 0;
    proxy.mode = 'open';
    expect(await reply).toMatchObject({ text: 'yes' });
    await until('the other node has seen the answer', () => seen.includes('message_created'));
    stop.abort();
    await reading;
    expect(other.log()).toMatch(/a connection to PostgreSQL was lost/);
    expect(other.log()).toMatch(/PostgreSQL can be reached again/);
  });
});
