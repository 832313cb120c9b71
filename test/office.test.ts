import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { loadConfig } from '../src/config/config.ts';
import { Daemon } from '../src/daemon/daemon.ts';
import { openLog } from '../src/daemon/log.ts';
import { until } from './helpers/until.ts';

test('the office example starts working after one sentence', { timeout: 60_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), 'office-'));
  const file = join(import.meta.dirname, '../examples/office/substrat.toml');
  const read = loadConfig({ file, cwd: home, home, env: {} });
  const config = {
    ...read,
    server: { bind: { host: '127.0.0.1', port: 0 }, origins: [], publicUrl: null },
    sandbox: { ...read.sandbox, mode: 'none' as const },
  };
  const daemon = await Daemon.start({ home, config, version: '0.0.0', log: openLog(join(home, 'daemon.log')) });
  onTestFinished(async () => {
    await daemon.stop();
    rmSync(home, { recursive: true });
  });
  const client = createClient({ home });
  const said = async (channel: string) =>
    (await client.listChannelMessages(channel).catch(() => ({ items: [] }))).items
      .map(({ from, text }) => `${from}: ${text}`)
      .reverse();

  const { messageId } = await client.postMessage('general', {
    text: 'Good morning! The lamp on the east pier is out.',
  });
  await until('pim is on its way', async () => (await said('workshop')).includes('pim: On my way up!'), 30_000);
  expect((await said('general')).slice(0, 2)).toEqual([
    'user: Good morning! The lamp on the east pier is out.',
    'marlow: @tilda, the lamp, please.',
  ]);
  expect((await said('workshop'))[0]).toBe('tilda: @osk, a lamp is out. That makes 1 in my book.');
  expect(await said('dm-osk-pim')).toContain('osk: Can you get up to the lamp? Slowly.');
  expect((await client.listPassages('tilda')).items[0]).toMatchObject({ tags: ['lamp'] });
  const reactions = async () => (await client.getMessage(messageId)).reactions;
  await until('osk has seen it', async () => (await reactions()).length > 0, 30_000);
  expect(await reactions()).toEqual([{ emoji: '🔧', users: ['osk'] }]);
  await until(
    'nothing is under way',
    async () => (await client.listRuns()).items.every(({ endedAt }) => endedAt),
    30_000,
  );
  const { items: runs } = await client.listRuns();
  expect(runs.filter(({ state }) => state !== 'completed')).toEqual([]);
  expect(runs.filter(({ agent }) => agent === 'juno')).toEqual([]);
});
