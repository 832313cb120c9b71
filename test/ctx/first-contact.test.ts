import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ctxLauncher } from '../helpers/ctx.ts';

const directory = mkdtempSync(join(tmpdir(), 'substrat-first-'));
const project = join(directory, 'project');
const env = {
  PATH: `${join(directory, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: directory,
  NO_COLOR: '1',
};

/** Runs a line in a shell, as a person would. */
async function type(line: string) {
  const child = spawn('bash', ['-c', line], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

beforeAll(() => {
  mkdirSync(join(directory, 'bin'));
  mkdirSync(join(project, 'src'), { recursive: true });
  // The program that Claude Code's command would be: it keeps what to start.
  writeFileSync(join(directory, 'bin/claude'), `#!/bin/sh\nprintf '%s\\n' "$@" > '${directory}/added'\n`);
  chmodSync(join(directory, 'bin/claude'), 0o755);
  writeFileSync(join(project, 'deploy.md'), '# Deploying\n\nPush the green button, then wait.\n');
  writeFileSync(join(project, 'notes.txt'), 'The office is closed on Fridays.\n');
  writeFileSync(join(project, 'src/payment.py'), 'def refund(order):\n    """Refunds an order."""\n');
  writeFileSync(join(project, 'logo.png'), 'x');
  writeFileSync(
    join(project, 'blob'),
    Uint8Array.from({ length: 400 }, (_, i) => (i * 7) % 256),
  );
});

afterAll(() => rmSync(directory, { recursive: true }));

test('from nothing to `search` in Claude in three commands', { timeout: 60_000 }, async () => {
  expect(await type('ctx search green')).toMatchObject({ code: 127 });

  // 1. Install. What npm does: `ctx` is on the PATH.
  symlinkSync(ctxLauncher, join(directory, 'bin/ctx'));

  // 2. ctx init
  const made = await type('ctx init');
  expect(made).toMatchObject({ code: 0, stderr: 'ctx: using ctx.toml (trusted)\n' });
  expect(made.stdout).toContain('filesystem:docs: 4 seen, 3 indexed');
  expect(made.stdout).toContain('Skipped 1 file: this kind of file has no text (logo.png)\n');
  expect(made.stdout).toMatch(/^Skipped 1 file: .* \(blob\)$/m);
  expect(made.stdout).toContain('ctx search "what you want to know"');

  // 3. The line that it printed.
  const line = /^ {2}(claude mcp add docs -- ctx .*)$/m.exec(made.stdout)?.[1] ?? expect.fail(made.stdout);
  expect(await type(line)).toMatchObject({ code: 0 });

  const [mcp, add, name, dashes, command = '', ...args] = readFileSync(join(directory, 'added'), 'utf8')
    .trimEnd()
    .split('\n');
  expect([mcp, add, name, dashes]).toEqual(['mcp', 'add', 'docs', '--']);
  const client = new Client({ name: 'claude', version: '1' });
  // From another directory, as a client does.
  await client.connect(new StdioClientTransport({ command, args, env, cwd: directory, stderr: 'ignore' }));
  const search = async (query: string) => {
    const { structuredContent } = await client.callTool({ name: 'search', arguments: { query } });
    return (structuredContent as { results: { source_id: string }[] }).results.map(({ source_id }) => source_id);
  };
  expect((await search('green button'))[0]).toBe('deploy.md');
  expect((await search('refund'))[0]).toBe('src/payment.py');
  expect((await search('closed Fridays'))[0]).toBe('notes.txt');
  await client.close();

  const snippet = JSON.parse(/^ {2}(\{"mcpServers".*)$/m.exec(made.stdout)?.[1] ?? '{}');
  expect(snippet.mcpServers.docs.args).toEqual(args);
});

test('a document is read by its path, or by the end of its id', async () => {
  const found = await type('ctx search green');
  const short = /deploy\.md {2}([0-9a-f]{6})$/m.exec(found.stdout)?.[1] ?? expect.fail(found.stdout);
  for (const name of ['deploy.md', './deploy.md', short]) {
    expect((await type(`ctx get ${name}`)).stdout).toContain('Push the green button, then wait.');
  }
  expect(await type('ctx get nothing.md')).toMatchObject({ code: 1, stderr: expect.stringContaining('no document') });
});

test('the configuration of a team does not keep a directory from being indexed', async () => {
  mkdirSync(join(directory, '.substrat'), { recursive: true, mode: 0o700 });
  writeFileSync(join(directory, '.substrat/config.toml'), '[daemon]\nslots = 2\n', { mode: 0o600 });
  mkdirSync(join(directory, 'more'));
  writeFileSync(join(directory, 'more/hotel.md'), 'A hotel costs 120 a night.\n');
  const { stdout } = await type('cd ../more && ctx init');
  expect(stdout).toContain('1 seen, 1 indexed');
  expect((await type('cd ../more && ctx search hotel')).stdout).toContain('hotel.md');
  rmSync(join(directory, '.substrat/config.toml'));
});

test('a search shows which words matched', async () => {
  const { stdout } = await type('ctx search button pushing');
  expect(stdout).toContain('   matched: Push, button\n');
  const explained = await type('ctx search button --json');
  expect(JSON.parse(explained.stdout).results[0]).not.toHaveProperty('explain');
});

test('a second init changes nothing, and the store is not indexed', async () => {
  expect(await type('ctx init')).toMatchObject({ code: 0, stdout: expect.stringContaining('Configuration: ') });
  expect((await type('ctx sync --full')).stdout).toMatch(/^filesystem:docs: 4 seen/);
  const { stdout } = await type('ctx export');
  const sources = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).source_id);
  expect(sources.sort()).toEqual(['deploy.md', 'notes.txt', 'src/payment.py']);
});

test('without documents, a search says that nothing is indexed', async () => {
  mkdirSync(join(directory, 'empty'));
  expect(await type('cd ../empty && SUBSTRAT_HOME=$PWD/home ctx search green')).toMatchObject({
    code: 0,
    stdout: 'No results.\n',
    stderr: 'warning: Nothing is indexed yet. Run `ctx init` in a directory with documents.\n',
  });
});

test('a home or a whole disk is not indexed', async () => {
  const { stdout } = await type('cd .. && ctx init');
  expect(stdout).toContain('Nothing was indexed: this is a whole home or disk.');
  expect(stdout).toContain('Next:\n  ctx sync\n');
});
