import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { startFleet } from '../helpers/fleet.ts';
import { ask } from '../helpers/http.ts';
import { describeOnPostgres } from '../helpers/postgres.ts';

describe('files of a workspace', () => {
  let daemon: TestDaemon;
  let workspace: string;
  beforeAll(async () => {
    daemon = await startDaemon({ members: { mason: {} } });
    workspace = daemon.agent('mason').workspace;
    mkdirSync(join(workspace, 'src'));
    writeFileSync(join(workspace, 'src/page.html'), '<script>alert(1)</script>');
    writeFileSync(join(daemon.directory, 'outside'), 'secret');
  });
  afterAll(() => daemon.stop());

  test('directories list their entries, files return their text', async () => {
    expect(await daemon.client.getFile('mason')).toMatchObject({
      kind: 'directory',
      entries: [{ name: 'src', kind: 'directory', size: null }],
    });
    expect(await daemon.client.getFile('mason', 'src/./page.html')).toMatchObject({
      kind: 'file',
      size: 25,
      text: '<script>alert(1)</script>',
      nextOffset: null,
    });
    await expect(daemon.client.getFile('mason', 'nothing')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('are inert for a browser', async () => {
    for (const path of [
      '/api/agents/mason/files?path=src/page.html',
      '/api/agents/mason/files/raw?path=src/page.html',
    ]) {
      const { headers } = await ask(daemon, path);
      expect(headers['x-content-type-options'], path).toBe('nosniff');
      expect(headers['content-security-policy'], path).toMatch(/^sandbox/);
      expect(headers['content-type'], path).toMatch(/^(text\/plain|application\/json)/);
    }
  });

  test('long files come in pages that do not cut a character', async () => {
    const text = 'ä'.repeat(600_000);
    writeFileSync(join(workspace, 'long'), `x${text}`);
    let read = '';
    for (let offset: number | null = 0; offset !== null; ) {
      const page = await daemon.client.getFile('mason', 'long', offset);
      read += page.text;
      offset = page.nextOffset;
    }
    expect(read).toBe(`x${text}`);
    writeFileSync(join(workspace, 'binary'), Buffer.from([1, 0, 2]));
    expect(await daemon.client.getFile('mason', 'binary')).toMatchObject({ text: null, data: null, size: 3 });
    rmSync(join(workspace, 'long'));
  });

  test('symlinks, pipes and paths that lead out of the workspace are refused', async () => {
    symlinkSync(daemon.directory, join(workspace, 'up'));
    symlinkSync(join(daemon.directory, 'outside'), join(workspace, 'out'));
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    for (const path of ['up/outside', 'out']) {
      await expect(daemon.client.getFile('mason', path), path).rejects.toMatchObject({ code: 'forbidden' });
    }
    for (const path of ['../../token', '/../..', 'src/../../../token']) {
      await expect(daemon.client.getFile('mason', path), path).rejects.toMatchObject({ code: 'not_found' });
    }
    await expect(daemon.client.getFile('mason', 'pipe')).rejects.toMatchObject({ code: 'bad_request' });
    const { entries } = await daemon.client.getFile('mason');
    expect(entries).toContainEqual({ name: 'up', kind: 'link', size: null });
    expect(entries).toContainEqual({ name: 'pipe', kind: 'other', size: null });
  });

  test('git directories and credential files are hidden', async () => {
    mkdirSync(join(workspace, '.git'));
    for (const name of ['.git/config', '.env', '.env.local', 'id_rsa', 'server.key', '.npmrc']) {
      writeFileSync(join(workspace, name), 'secret');
      await expect(daemon.client.getFile('mason', name), name).rejects.toMatchObject({ code: 'not_found' });
    }
    writeFileSync(join(workspace, '.env.example'), 'KEY=');
    const names = (await daemon.client.getFile('mason')).entries?.map(({ name }) => name);
    expect(names).toContain('.env.example');
    for (const name of ['.git', '.env', '.env.local', 'id_rsa', 'server.key', '.npmrc'])
      expect(names).not.toContain(name);
    rmSync(join(workspace, '.git'), { recursive: true });
  });

  test('without a sandbox there is no diff', async () => {
    await expect(daemon.client.getDiff('mason')).rejects.toMatchObject({ code: 'unsupported' });
  });
});

describeOnPostgres('files of an agent of another node', () => {
  test('are read by that node', async () => {
    const { a, b } = await startFleet(['a', 'b']);
    const { workspace } = await b.client.createAgent({ name: 'there', provider: 'external' });
    writeFileSync(join(workspace, 'note'), 'hello');
    expect(await a.client.getFile('there', 'note')).toMatchObject({ text: 'hello' });
    expect((await ask(a, '/api/agents/there/files/raw?path=note')).text).toBe('hello');
    await expect(a.client.getFile('there', 'none')).rejects.toMatchObject({ code: 'not_found' });
  });
});
