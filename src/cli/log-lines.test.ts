import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeLogLine, followLines, readLines } from './log-lines.ts';

test('a line is in words, with its details at the end', () => {
  const time = new Date(2020, 4, 6, 17, 30).getTime();
  const line = JSON.stringify({ level: 40, time, pid: 7, agentId: 'a1', n: 2, msg: 'it is slow' });
  expect(describeLogLine(line)).toBe('6 May 2020 17:30 WARN it is slow agentId=a1 n=2');
  expect(describeLogLine('not JSON')).toBe('not JSON');
  expect(describeLogLine('{"time":"x"}')).toBe('{"time":"x"}');
});

test('following goes on where reading ended, over whole lines, in a new file, too', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lines-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'daemon.log');
  writeFileSync(file, 'one\ntwo\n');
  const { lines, place } = readLines(file);
  expect(lines).toEqual(['one', 'two']);
  const stop = new AbortController();
  const added = followLines(file, place, stop.signal);
  const next = async () => (await added.next()).value as string;
  appendFileSync(file, 'three\nfo');
  expect(await next()).toBe('three');
  appendFileSync(file, 'ur\n');
  expect(await next()).toBe('four');
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'five is longer than all before it\n');
  expect(await next()).toBe('five is longer than all before it');
  stop.abort();
  expect((await added.next()).done).toBe(true);
});
