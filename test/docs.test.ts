import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withEventTable } from '../src/http/event-docs.ts';

const root = join(import.meta.dirname, '..');

test('the Claude Agent SDK example in the docs is the compiled one', () => {
  const [, example] =
    /```ts\n(import \{ createSdkMcpServer[\s\S]*?)```/.exec(readFileSync(join(root, 'docs/channels.md'), 'utf8')) ?? [];
  expect(example).toBe(readFileSync(join(root, 'examples/agent-sdk.ts'), 'utf8'));
});

test('the table of events in docs/api.md is made from their definitions', () => {
  const page = readFileSync(join(root, 'docs/api.md'), 'utf8');
  expect(page).toContain('| `message_created` |');
  expect(withEventTable(page)).toBe(page);
});

test('package.json, its lock file and the newest section of the changelog name one version', () => {
  const versionIn = (file: string) =>
    (JSON.parse(readFileSync(join(root, file), 'utf8')) as { version: string }).version;
  const [heading] = /^## .*$/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) ?? [];
  expect(heading?.split(' ').at(-1)).toBe(versionIn('package.json'));
  expect(versionIn('package-lock.json')).toBe(versionIn('package.json'));
});

test('the glossary has each word once, in order', () => {
  const page = readFileSync(join(root, 'docs/glossary.md'), 'utf8');
  const words = [...page.matchAll(/^\| (?!word \||---)([^|]+) \|/gm)].map(([, word = '']) => word.toLowerCase());
  expect(words.length).toBeGreaterThan(100);
  expect(words).toEqual([...new Set(words)].sort());
});
