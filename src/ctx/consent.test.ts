import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { consents } from './consent.ts';

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
