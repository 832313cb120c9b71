import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { askHidden, choose, consents } from './ask.ts';

test.each([
  ['y\r', true],
  ['YES\r', true],
  [' yes \r', true],
  ['\r', false],
  ['n\r', false],
  ['yesterday\r', false],
  ['y\x03', false],
  ['\x04', false],
  ['', false],
])('%j is consent: %j', async (typed, expected) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answer = consents('Trust it?', input, output);
  input.end(typed);
  expect(await answer).toBe(expected);
  output.end();
  expect(await text(output)).toContain('Trust it? [y/N] ');
});

test.each([
  ['2\r', 1],
  ['\r', 0],
  ['7\rx\r3\r', 2],
  ['\x03', null],
  ['', null],
])('%j chooses %j of three', async (typed, expected) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const lines = typed.split(/(?<=\r)/);
  let shown = '';
  output.on('data', (chunk) => {
    shown += chunk;
    if (!String(chunk).includes('Enter for 1]')) return;
    const line = lines.shift() ?? '';
    if (line.endsWith('\r')) input.write(line);
    else input.end(line);
  });
  expect(await choose('Which?', ['one', 'two', 'three'], input, output)).toBe(expected);
  expect(shown).toContain('Which?\n  1. one\n  2. two\n  3. three\n');
});

test('a hidden answer is not echoed', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answer = askHidden('Key: ', input, output);
  input.end('sk-secret\r');
  expect(await answer).toBe('sk-secret');
  output.end();
  expect(await text(output)).toBe('Key: \n');
});
