import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLog } from './log.ts';
import { readLogEntries } from './log-entries.ts';

test('reads the newest entries, and only the end of a long log', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'));
  const file = join(directory, 'daemon.log');
  const all = { level: 'info', text: '', limit: 500 } as const;
  expect(await readLogEntries(file, all)).toEqual([]);
  const log = openLog(file);
  log.info({ runId: 'r1', pages: 3 }, 'the first');
  appendFileSync(file, 'not an entry\n');
  log.warn({}, 'Something odd');
  log.error({}, 'broken');
  expect((await readLogEntries(file, all)).map(({ message, level }) => [message, level])).toEqual([
    ['broken', 'error'],
    ['Something odd', 'warn'],
    ['the first', 'info'],
  ]);
  expect((await readLogEntries(file, all)).at(-1)?.details).toEqual({ runId: 'r1', pages: '3' });
  expect((await readLogEntries(file, { ...all, level: 'warn' })).length).toBe(2);
  expect((await readLogEntries(file, { ...all, text: 'ODD' })).length).toBe(1);
  expect((await readLogEntries(file, { ...all, limit: 1 })).length).toBe(1);
  const before = `${JSON.stringify({ level: 30, time: 1, msg: 'x'.repeat(1000) })}\n`.repeat(1200);
  appendFileSync(file, before);
  log.info({}, 'the last');
  const found = await readLogEntries(file, { ...all, limit: 2000 });
  expect(found[0]?.message).toBe('the last');
  expect(found.length).toBeLessThan(1100);
  rmSync(directory, { recursive: true });
});
