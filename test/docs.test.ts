import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

test('the example of the Claude Agent SDK in the docs is the one that is compiled', () => {
  const [, example] =
    /```ts\n(import \{ createSdkMcpServer[\s\S]*?)```/.exec(readFileSync(join(root, 'docs/channels.md'), 'utf8')) ?? [];
  expect(example).toBe(readFileSync(join(root, 'examples/agent-sdk.ts'), 'utf8'));
});
