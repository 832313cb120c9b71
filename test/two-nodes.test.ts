import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabase, describeOnPostgres } from './helpers/postgres.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');
const SPEAKER = `import { runAgent } from '${SCRIPTED}';
await runAgent(async ({ name, messages, call }) => {
  const { channelId, text, kind } = messages.find((message) => message.kind !== 'context');
  if (kind !== 'request') await call('send_message', { channelId, text: name + ' heard ' + text });
  return name + ' was asked ' + text;
});
`;

describeOnPostgres('two nodes on one store', () => {
  test('agents of both nodes answer in the stored order, even if one node dies and comes back', {
    timeout: 120_000,
  }, async () => {
    const database = await createDatabase();
    const cwd = mkdtempSync(join(tmpdir(), 'nodes-'));
    writeFileSync(join(cwd, 'agent.ts'), SPEAKER);
    writeFileSync(
      join(cwd, 'substrat.toml'),
      `[db]\nurl = "${database.url}"\n[daemon]\ndefault_provider = "scripted"\nlease = "2s"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n`,
    );
    const start = (name: string) => {
      const home = join(cwd, name);
      mkdirSync(home, { recursive: true, mode: 0o700 });
      return startDaemonProcess({ home, config: join(cwd, 'substrat.toml') });
    };
    let here = await start('here');
    const there = await start('there');
    onTestFinished(async () => {
      await here.kill();
      await there.kill();
      await database.drop();
      rmSync(cwd, { recursive: true, force: true });
    });

    const program = join(cwd, 'agent.ts');
    for (const [name, { client }] of Object.entries({ ann: here, ben: there, cleo: here, dan: there })) {
      await client.createAgent({ name, program });
    }
    await there.client.createChannel({ id: 'general', kind: 'public', members: ['ben', 'ann', 'dan', 'cleo'] });
    const said = async () =>
      (await there.client.listChannelMessages('general')).items.map(({ from, text }) => `${from}: ${text}`).reverse();
    const round = (text: string) => [
      `user: ${text}`,
      ...['ben', 'ann', 'dan', 'cleo'].map((name) => `${name}: ${name} heard ${text}`),
    ];

    await here.client.postMessage('general', { text: 'hello' });
    await until('all have answered', async () => (await said()).length === 5);
    expect(await said()).toEqual(round('hello'));

    // Asked at one node, answered by the other.
    const { messageId } = await here.client.sendMessage('ben', { text: 'are you well?' });
    expect(await here.client.awaitReply(messageId, 30)).toMatchObject({ text: 'ben was asked are you well?' });

    await here.kill();
    await there.client.postMessage('general', { text: 'who is there?' });
    await until('the first has answered', async () => (await said()).length === 7);
    here = await start('here');
    await until('all have answered', async () => (await said()).length === 10);
    expect(await said()).toEqual([...round('hello'), ...round('who is there?')]);
  });
});
