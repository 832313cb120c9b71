import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { allPages } from '../../src/client/client.ts';
import { ask } from '../helpers/http.ts';
import { runSubstrat, start, startDaemonProcess } from '../helpers/substrat.ts';

let directory: string;
let home: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'backup-'));
  home = join(directory, 'home');
  file = join(directory, 'backup.tar.gz');
});

afterEach(() => rmSync(directory, { recursive: true }));

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');

async function substrat(args: readonly string[], where = home) {
  const { code, stdout, stderr } = await runSubstrat([...args, '--json'], { home: where });
  return { code, stderr, json: stdout === '' ? null : JSON.parse(stdout) };
}

test('a backup is made under load, and a restored home continues from it', async () => {
  const program = join(directory, 'echo.ts');
  writeFileSync(
    program,
    `import { runAgent } from '${SCRIPTED}';\nawait runAgent(({ messages }) => messages[0].text);\n`,
  );
  const daemon = await startDaemonProcess({ home });
  await daemon.client.createAgent({ name: 'echo', program });
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  let over = false;
  const posting = (async () => {
    const sent: string[] = [];
    while (!over) {
      sent.push((await daemon.client.sendMessage('me', { text: 'x'.repeat(5_000) })).messageId);
    }
    return sent;
  })();
  const made = await substrat(['backup', file]);
  expect(made).toMatchObject({ code: 0, json: { status: 'written', file } });
  over = true;
  const sent = await posting;
  const { rows } = made.json.manifest.tables.messages;
  expect(rows).toBeLessThanOrEqual(sent.length);
  const { messageId } = await daemon.client.sendMessage('echo', { text: 'after the backup' });
  await daemon.client.awaitReply(messageId, 15);
  const last = (await ask({ home }, '/api/events?after=99999999')).json.error.message as string;
  const lastEvent = Number(/last one is (\d+)/.exec(last)?.[1]);

  expect((await substrat(['restore', file])).stderr).toMatch(/A daemon is already running on .*/);
  expect(await daemon.stop()).toBe(0);
  expect((await substrat(['restore', file])).stderr).toMatch(/is not empty/);

  const restored = join(directory, 'restored');
  expect(await substrat(['restore', file], restored)).toMatchObject({ code: 0, json: { status: 'restored' } });
  for (const name of ['node', 'token']) {
    expect(readFileSync(join(restored, name), 'utf8')).toBe(readFileSync(join(home, name), 'utf8'));
  }
  const again = await startDaemonProcess({ home: restored });
  const { items } = await again.client.listMessages('me', { limit: 500 });
  expect(items).toHaveLength(Math.min(rows, 500));
  expect(sent).toEqual(expect.arrayContaining(items.map((message) => message.messageId)));
  const asked = await again.client.sendMessage('echo', { text: 'still there?' });
  expect(await again.client.awaitReply(asked.messageId, 15)).toMatchObject({ text: 'still there?' });
  // A client that followed the log before must not get other events under the same numbers.
  for (const stale of [1, lastEvent - 1, lastEvent]) {
    const answer = await ask({ home: restored }, '/api/events', { headers: { 'last-event-id': String(stale) } });
    expect([stale, answer.status, answer.json.error.code]).toEqual([stale, 410, 'gone']);
  }
  expect(await again.stop()).toBe(0);
}, 60_000);

test('a restore killed at any point leaves nothing that a daemon would start on, and can be repeated', async () => {
  const daemon = await startDaemonProcess({ home });
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  for (let i = 0; i < 20; i++) await daemon.client.sendMessage('me', { text: 'x'.repeat(100_000) });
  expect(await daemon.stop()).toBe(0);
  expect(await substrat(['backup', file])).toMatchObject({ code: 0 });
  const whole = () =>
    readdirSync(restored).filter((name) => ['node', 'token', 'substrat.db'].includes(name)).length === 3;
  const restored = join(directory, 'restored');
  let cut = 0;
  for (let delay = 0; delay < 900; delay += 150) {
    const child = start(['restore', file, '--force'], { home: restored });
    const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
    await Promise.race([exited, sleep(250 + delay)]);
    child.kill('SIGKILL');
    if ((await exited) === 0) break;
    cut += 1;
    if (!existsSync(join(restored, 'restoring'))) {
      // It had not begun, or it was done.
      expect(!existsSync(restored) || whole() || !existsSync(join(restored, 'substrat.db'))).toBe(true);
      continue;
    }
    const { code, stderr } = await runSubstrat(['up', '--quiet'], { home: restored });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/A restore into .* did not finish\. Run `substrat restore/),
    ]);
  }
  expect(cut).toBeGreaterThan(0);
  expect(await substrat(['restore', file, '--force'], restored)).toMatchObject({ code: 0 });
  const again = await startDaemonProcess({ home: restored });
  let found = 0;
  for await (const _ of allPages((query) => again.client.listMessages('me', query))) found += 1;
  expect(found).toBe(20);
  expect(await again.stop()).toBe(0);
}, 60_000);
