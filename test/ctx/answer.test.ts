import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ctxJson, runCtx, startCtx } from '../helpers/ctx.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

let directory: string;
let home: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'answer-'));
  home = join(directory, 'home');
  for (const path of [home, join(directory, 'docs')]) mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(directory, 'docs/deploy.md'), '# Deploying\n\nPush the green button.\n');
});
afterEach(() => rmSync(directory, { recursive: true }));

const SETTINGS = '[server]\nbind = "127.0.0.1:0"\n[connectors.filesystem.docs]\nroot = "../docs"\n';

function serving(): string[] {
  return readdirSync(home).filter((name) => /^ctx-\d+\.sock$/.test(name));
}

/** Puts a relay in front of a socket of the home. Returns the bodies of the responses that pass. */
async function overhear(name: string): Promise<string[]> {
  const path = join(home, name);
  renameSync(path, `${path}.real`);
  const responses: string[] = [];
  const relay = createServer((client) => {
    const server = connect(`${path}.real`);
    client.pipe(server).pipe(client);
    const index = responses.push('') - 1;
    server.on('data', (bytes) => {
      responses[index] += bytes.toString();
    });
    for (const socket of [client, server]) socket.on('error', () => client.destroy());
  });
  relay.listen(path);
  await once(relay, 'listening');
  onTestFinished(() => void relay.close());
  return responses;
}

test.each(['`ctx serve mcp`', 'a daemon'])('%s answers `ctx search` if it has the same settings', async (kind) => {
  writeFileSync(join(home, 'config.toml'), SETTINGS);
  await ctxJson(directory, 'sync');
  const alone = await runCtx(directory, 'search', 'green', '--json');
  expect(alone.stdout).toContain('Deploying');

  let socket = 'daemon.sock';
  if (kind === 'a daemon') {
    const daemon = await startDaemonProcess({ home, cwd: directory });
    onTestFinished(() => daemon.kill().then(() => {}));
  } else {
    const { child } = startCtx(directory, 'serve', 'mcp');
    onTestFinished(() => void child.kill('SIGKILL'));
    socket = await until('it serves', () => serving()[0]);
  }
  const responses = await overhear(socket);
  expect(await runCtx(directory, 'search', 'green', '--json')).toEqual(alone);
  expect(responses).toEqual([expect.stringContaining('Deploying')]);
  writeFileSync(join(home, 'config.toml'), `${SETTINGS}[retrieval]\nfinal_limit = 7\n`);
  expect((await runCtx(directory, 'search', 'green', '--json')).stdout).toBe(alone.stdout);
  expect(responses).toEqual([expect.anything(), expect.not.stringContaining('Deploying')]);
});

test('`ctx serve mcp` creates a missing home, so that it can answer', async () => {
  rmSync(home, { recursive: true });
  const file = join(directory, 'ctx.toml');
  writeFileSync(file, SETTINGS.replace('../docs', 'docs').concat('[db]\npath = "docs.db"\n'));
  const { child } = startCtx(directory, 'serve', 'mcp', '--config', file);
  onTestFinished(() => void child.kill('SIGKILL'));
  await until('it serves', () => existsSync(home) && serving().length === 1);
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test('`ctx serve mcp` removes its socket when it ends', async () => {
  writeFileSync(join(home, 'config.toml'), SETTINGS);
  const { child } = startCtx(directory, 'serve', 'mcp');
  await until('it serves', () => serving().length === 1);
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(serving()).toEqual([]);
});

test('a server that gives another answer, or none of ours, is not used', async () => {
  writeFileSync(join(home, 'config.toml'), SETTINGS);
  await ctxJson(directory, 'sync');
  const said = ['HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{]'];
  const server = createServer((socket) => socket.once('data', () => socket.end(said.shift() ?? '')));
  server.listen(join(home, 'daemon.sock'));
  await once(server, 'listening');
  for (const _ of [...said]) expect((await runCtx(directory, 'search', 'green')).stdout).toContain('Deploying');
  expect(said).toEqual([]);
  server.close();
});
