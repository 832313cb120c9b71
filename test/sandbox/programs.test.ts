import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';

/** A program works in any directory, without our package next to it and whatever its package.json says. */
let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startDaemon({ sandbox: 'bwrap' });
});
afterAll(() => daemon.stop());

function write(name: string, source: string): string {
  const path = join(daemon.directory, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, source);
  chmodSync(path, 0o755);
  return path;
}

async function answer(name: string, program: string): Promise<string | undefined> {
  await daemon.client.createAgent({ name, program });
  const { messageId } = await daemon.client.sendMessage(name, { text: 'two words' });
  return (await daemon.client.awaitReply(messageId, 30))?.text;
}

const SOURCE = `import { runAgent } from 'substrat/scripted';
import { count } from './count.SUFFIX';
await runAgent(async ({ messages }) => 'I count ' + count(messages[0].text));
`;

test.each(['ts', 'js'])('a .%s file is a module, also in a package that says commonjs', async (suffix) => {
  write('cjs/package.json', '{"type": "commonjs"}');
  write(`cjs/count.${suffix}`, 'export const count = (text) => text.split(" ").length;\n');
  const program = write(`cjs/counter.${suffix}`, SOURCE.replace('SUFFIX', suffix));
  expect(await answer(`counter-${suffix}`, program)).toBe('I count 2');
});

test('a CommonJS program stays one', async () => {
  const program = write(
    'cjs/old.js',
    "const { cwd } = require('node:process');\nconsole.log(JSON.stringify({ type: 'done', text: typeof cwd }));\n",
  );
  expect(await answer('old', program)).toBe('function');
});

test('a shell script calls tools by substrat-tool, and sees their errors', async () => {
  const program = write(
    'shell.sh',
    `#!/bin/sh
stored=$(substrat-tool store_memory '{"content": "from the shell"}' | tr -d '"')
wrong=$(substrat-tool no_such_tool 2>&1) && exit 1
wrong=$(echo "$wrong" | tr -d '"')
substrat-tool | grep -q '^send_message' || exit 1
substrat-tool send_message 'no JSON' 2>/dev/null && exit 1
printf '{"type":"done","text":"%s"}\\n' "$wrong"
`,
  );
  expect(await answer('shell', program)).toMatch(/^substrat-tool: .*no_such_tool/);
  const { items } = await daemon.client.listPassages('shell', {});
  expect(items.map(({ content }) => content)).toEqual(['from the shell']);
});
