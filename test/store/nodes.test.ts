import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ask } from '../helpers/http.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

let directory: string;
let home: string;
let program: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'nodes-'));
  home = join(directory, 'home');
  program = join(directory, 'echo.ts');
  const scripted = join(import.meta.dirname, '../../src/scripted/scripted.ts');
  writeFileSync(program, `import { runAgent } from '${scripted}';\nawait runAgent(() => process.cwd());\n`);
});

afterEach(() => rmSync(directory, { recursive: true }));

async function agentsOf(where: string, end: 'stop' | 'kill' = 'stop'): Promise<void> {
  const daemon = await startDaemonProcess({ home: where });
  await daemon.client.createAgent({ name: 'echo', program });
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  expect((await daemon.client.getStatus()).notices).toEqual([]);
  await daemon[end]();
}

test("a home with another node's store reports it everywhere, and adopts its agents with one command", async () => {
  await agentsOf(home);
  const other = join(directory, 'other');
  mkdirSync(other, { mode: 0o700 });
  copyFileSync(join(home, 'substrat.db'), join(other, 'substrat.db'));
  rmSync(home, { recursive: true });

  const doctor = async () =>
    JSON.parse((await runSubstrat(['doctor', '--json'], { home: other })).stdout).findings as Record<string, string>[];
  const finding = (findings: Record<string, string>[], what: string) => findings.find((one) => one.what === what);
  expect(finding(await doctor(), 'store')).toMatchObject({
    state: 'warning',
    mend: expect.stringMatching(/node adopt/),
  });

  const daemon = await startDaemonProcess({ home: other });
  const { messageId } = await daemon.client.sendMessage('echo', { text: 'where are you?' });
  const { notices } = await daemon.client.getStatus();
  expect(notices).toEqual([
    expect.stringMatching(/^2 agents in the store belong to node .*, so their turns do not run/),
  ]);
  expect(finding(await doctor(), 'daemon')).toMatchObject({ state: 'warning', mend: notices[0] });
  expect((await runSubstrat(['agent', 'list'], { home: other })).stdout).toContain(`Notice: ${notices[0]}`);
  expect((await runSubstrat(['daemon', 'logs'], { home: other })).stdout).toContain('their turns do not run');

  const { items } = await daemon.client.listNodes();
  expect(items.map(({ state, self, agents }) => [state, self, agents]).sort()).toEqual([
    ['alive', true, 0],
    ['stopped', false, 2],
  ]);
  const adopted = await runSubstrat(['node', 'adopt', '--json'], { home: other });
  expect(JSON.parse(adopted.stdout).items).toEqual(
    expect.arrayContaining([expect.objectContaining({ agents: 2, workspaces: 2 })]),
  );
  const reply = await daemon.client.awaitReply(messageId, 15);
  expect(reply?.text.startsWith(join(other, 'workspaces'))).toBe(true);
  const { path } = await daemon.client.getMcpConfig('me');
  expect(existsSync(path)).toBe(true);
  expect((await daemon.client.getStatus()).notices).toEqual([]);
  expect((await daemon.client.listNodes()).items).toMatchObject([{ state: 'alive', self: true, agents: 2 }]);
  expect((await ask({ home: other }, '/api/nodes/none/adopt', { method: 'POST', body: {} })).status).toBe(404);
  expect(await daemon.stop()).toBe(0);
});

test('a moved home finds its workspaces again', async () => {
  await agentsOf(home);
  const moved = join(directory, 'moved');
  renameSync(home, moved);
  const daemon = await startDaemonProcess({ home: moved });
  const { notices } = await daemon.client.getStatus();
  expect(notices).toEqual([expect.stringMatching(/2 workspaces of this home have paths in its previous location/)]);
  expect((await runSubstrat(['node', 'adopt'], { home: moved })).stdout).toMatch(/2 workspaces have new paths/);
  const { messageId } = await daemon.client.sendMessage('echo', { text: 'where are you?' });
  const reply = await daemon.client.awaitReply(messageId, 15);
  expect(reply?.text.startsWith(join(moved, 'workspaces'))).toBe(true);
  expect(existsSync(home)).toBe(false);
  expect((await daemon.client.getStatus()).notices).toEqual([]);
  expect(await daemon.stop()).toBe(0);
});

test('the agents of a living node are not taken over unless forced', async () => {
  await agentsOf(home, 'kill');
  const other = join(directory, 'other');
  mkdirSync(other, { mode: 0o700 });
  for (const end of ['', '-wal']) copyFileSync(join(home, `substrat.db${end}`), join(other, `substrat.db${end}`));
  const daemon = await startDaemonProcess({ home: other });
  const { items } = await daemon.client.listNodes();
  const alive = items.find(({ state, self }) => state === 'alive' && !self)?.id as string;
  await expect(daemon.client.adoptNode(alive)).rejects.toMatchObject({ code: 'conflict' });
  expect(await daemon.client.adoptNode(alive, { force: true })).toMatchObject({ agents: 2 });
  expect(await daemon.stop()).toBe(0);
});
