import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noBwrap } from '../helpers/bwrap.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';

/** An agent that tries the given lines and answers with the results. */
const PROBE = `async ({ messages, call }) => {
  const { readFileSync, writeFileSync, renameSync, existsSync } = await import('node:fs');
  const { execFileSync } = await import('node:child_process');
  const tries = {
    read: (path) => readFileSync(path, 'utf8'),
    write: (path) => (writeFileSync(path, 'written'), 'ok'),
    rename: (path) => (renameSync(path, path + '-2'), 'ok'),
    there: (path) => existsSync(path),
    sh: (...words) => execFileSync('/bin/sh', ['-c', words.join(' ')], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    tool: async (name, json) => call(name, JSON.parse(json)),
  };
  const results = [];
  for (const line of messages[0].text.split('\\n')) {
    const [what, ...words] = line.split(' ');
    results.push(await Promise.resolve().then(() => tries[what](...words)).catch((error) => error.code ?? 'failed'));
  }
  return JSON.stringify(results);
}`;

describe.skipIf(noBwrap !== null)('in the sandbox', () => {
  let daemon: TestDaemon;
  let outside: string;

  beforeAll(async () => {
    daemon = await startDaemon({ sandbox: 'bwrap' });
    outside = join(daemon.directory, 'outside');
    for (const name of ['docs/api', 'data', 'site/src', 'private']) mkdirSync(join(outside, name), { recursive: true });
    for (const name of ['docs/page', 'docs/api/page', 'data/page', 'site/src/page', 'site/page', 'private/page']) {
      writeFileSync(join(outside, name), name);
    }
    daemon.program('probe', PROBE);
  });
  afterAll(() => daemon.stop());

  const make = (name: string, change: object) =>
    daemon.client.createAgent({ name, program: join(daemon.directory, 'probe.ts'), ...change });
  const tell = async (name: string, ...lines: string[]): Promise<unknown[]> => {
    const { messageId } = await daemon.client.sendMessage(name, { text: lines.join('\n') });
    const reply = await daemon.client.awaitReply(messageId, 30);
    expect(reply).toMatchObject({ kind: 'reply' });
    return JSON.parse(reply?.text ?? '');
  };

  test('links are mounted with their modes, and nothing next to them', async () => {
    const site = join(outside, 'site');
    await daemon.client.createWorkspace({ name: 'site', path: site });
    await daemon.client.linkDirectory('site', { source: join(outside, 'docs'), target: 'docs' });
    await daemon.client.linkDirectory('site', { source: join(outside, 'data'), target: 'in/data', mode: 'rw' });
    await make('linked', { workspace: 'site' });
    const answers = await tell(
      'linked',
      `read ${site}/docs/page`,
      `write ${site}/docs/page`,
      `read ${site}/in/data/page`,
      `write ${site}/in/data/new`,
      `write ${site}/own`,
      `there ${outside}/private`,
      `there ${outside}/docs`,
      `rename ${site}/docs`,
    );
    expect(answers).toEqual(['docs/page', 'EROFS', 'data/page', 'ok', 'ok', false, false, 'EBUSY']);
    expect(readFileSync(join(outside, 'data/new'), 'utf8')).toBe('written');
    await daemon.client.unlinkDirectory('site', 'docs');
    expect(await tell('linked', `there ${site}/docs/page`)).toEqual([false]);
  });

  test('a view is read-only, and the rest of the workspace is not visible', async () => {
    const site = join(outside, 'site');
    await daemon.client.createWorkspace({ name: 'look', viewOf: 'site', subdir: 'src' });
    await make('viewer', { workspace: 'look' });
    const answers = await tell('viewer', `read ${site}/src/page`, `write ${site}/src/page`, `there ${site}/page`);
    expect(answers).toEqual(['site/src/page', 'EROFS', false]);
  });

  test('a child in a link of its parent sees the linked directory, read-only', async () => {
    const { workspace } = await make('boss', {});
    mkdirSync(join(workspace, 'src'));
    writeFileSync(join(workspace, 'src/page'), 'mine');
    const linked = { workspace: 'boss', source: 'src', target: 'review' };
    const spawn = { name: 'reviewer', instructions: 'Review.', workspace_subdir: 'review' };
    const calls = [`tool link_dir ${JSON.stringify(linked)}`, `tool spawn_agent ${JSON.stringify(spawn)}`];
    expect(await tell('boss', ...calls)).toMatchObject([{ status: 'linked' }, { status: 'created' }]);
    const answers = await tell(
      'reviewer',
      `read ${workspace}/review/page`,
      `write ${workspace}/review/page`,
      `there ${workspace}/src`,
    );
    expect(answers).toEqual(['mine', 'EROFS', false]);
  });

  test('an agent commits in its worktree, and cannot change what git executes', async () => {
    const repository = join(outside, 'repository');
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], {
        cwd: repository,
        encoding: 'utf8',
      });
    mkdirSync(repository);
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '-m', 'First');
    const { id, workspace } = await make('mason', { workspace: repository, worktree: true });
    const own = join(repository, '.git/worktrees', id);
    const commit = 'git add -A && git -c user.name=M -c user.email=m@example.com commit --quiet -m Second && echo done';
    const answers = await tell(
      'mason',
      `write ${workspace}/page`,
      `sh cd ${workspace} && ${commit}`,
      `write ${repository}/.git/config`,
      `write ${repository}/.git/hooks/post-checkout`,
      `write ${repository}/.git/refs/heads/evil`,
      `write ${own}/commondir`,
      `rename ${own}/commondir`,
      `write ${own}/config.worktree`,
    );
    expect(answers).toEqual(['ok', 'done\n', 'EROFS', 'EROFS', 'EROFS', 'EROFS', 'EBUSY', 'EROFS']);
    expect(git('log', '-1', '--format=%s', 'substrat/mason')).toBe('Second\n');
  });
});
