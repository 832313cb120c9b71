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
