import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { namesIn } from './names-in.ts';

test('namesIn() reads at most one name more than are wanted', () => {
  const directory = mkdtempSync(join(tmpdir(), 'names-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const name of ['a', 'b', 'c', 'd', 'e']) writeFileSync(join(directory, name), '');
  expect(namesIn(directory, 2)).toHaveLength(3);
  expect(namesIn(directory, 5).sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
});
