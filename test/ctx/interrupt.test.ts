import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startCtx } from '../helpers/ctx.ts';
import { until } from '../helpers/until.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'interrupt-'));
  mkdirSync(join(directory, 'docs'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const configure = (connector: string) =>
  writeFileSync(join(directory, 'ctx.toml'), `[db]\npath = "ctx.db"\n${connector}`);

/** YAML of this form takes the parser minutes. */
const endless = `---\n${Array.from({ length: 200 }, (_, i) => `{{{{k${i}: 1`).join('\n')}\n---\n# Title\n`;

test('SIGTERM ends a sync while a document hangs its parser', async () => {
  configure('[connectors.filesystem.docs]\nroot = "docs"\n');
  writeFileSync(join(directory, 'docs/bad.md'), endless);
  writeFileSync(join(directory, 'docs/good.md'), '# Good\n');
  execFileSync('mkfifo', [join(directory, 'docs/.gitignore')]);
  const { child, said } = startCtx(directory, 'sync');
  const main = child.pid as number;
  await until('a thread is at work', () => threadsOf(main).some(({ tid, ticks }) => tid !== main && ticks > 15));
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(said()).toContain('The sync was interrupted');
}, 60_000);

test('SIGTERM ends a sync that waits for a server that never responds', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  configure(`[connectors.s3.docs]\nbucket = "b"\nregion = "eu"\nendpoint_url = "http://127.0.0.1:${port}"\n`);
  const { child } = startCtx(directory, 'sync');
  await until('it asks the server', () => sockets.length > 0);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
}, 60_000);

test('a document that hangs its parser is skipped, and the others are indexed', async () => {
  configure('[connectors.filesystem.docs]\nroot = "docs"\n');
  writeFileSync(join(directory, 'docs/bad.md'), endless);
  writeFileSync(join(directory, 'docs/good.md'), '---\ntitle: Good\n---\ntext\n');
  const { child, said } = startCtx(directory, 'sync');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(said()).toMatch(/skipped bad\.md: reading it timed out after 5 seconds/);
  expect(said()).toContain('2 seen, 1 indexed');
}, 60_000);

function threadsOf(pid: number): { readonly tid: number; readonly ticks: number }[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((tid) => {
      const fields = readFileSync(`/proc/${pid}/task/${tid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return { tid: Number(tid), ticks: Number(fields[11]) };
    });
  } catch {
    // One of them has exited meanwhile.
    return [];
  }
}
