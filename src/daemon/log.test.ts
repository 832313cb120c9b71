import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLog } from './log.ts';

test('a log that is full is put aside, and only the last ones are kept', () => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'daemon.log');
  const log = openLog(file, { maxBytes: 1_000, lookEvery: 1 });
  for (let n = 0; n < 100; n += 1) log.info({ n }, 'a line');
  expect(readdirSync(directory).sort()).toEqual(['daemon.log', 'daemon.log.1', 'daemon.log.2', 'daemon.log.3']);
  const numbers = ['.3', '.2', '.1', ''].flatMap((end) =>
    readFileSync(file + end, 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { n: number }).n),
  );
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, n) => 100 - numbers.length + n));
  expect(numbers.length).toBeGreaterThan(20);
  for (const end of ['', '.1']) expect(statSync(file + end).size).toBeLessThan(1_200);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a log that is full at the start is put aside', () => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'daemon.log');
  writeFileSync(file, 'x'.repeat(1_000));
  openLog(file, { maxBytes: 1_000 }).warn({}, 'new');
  expect(readFileSync(file, 'utf8')).toContain('new');
  expect(existsSync(`${file}.1`)).toBe(true);
});
