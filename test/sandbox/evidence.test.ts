import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, type Evidence } from '../../src/client/client.ts';
import { noBwrap } from '../helpers/bwrap.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { gitTraps } from '../helpers/git-traps.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const CONFIG = `
[daemon]
checks = ["sh test.sh", "sh late.sh"]
`;
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com', ...args], {
    cwd,
    encoding: 'utf8',
  }).trim();
const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

describe.skipIf(noBwrap !== null)('evidence', () => {
  let daemon: TestDaemon;
  let path: string;
  let commit: string;
  beforeAll(async () => {
    daemon = await startDaemon({ sandbox: 'bwrap', config: CONFIG });
    path = join(daemon.directory, 'work');
    mkdirSync(path);
    git(path, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(path, 'page'), 'one\n');
    writeFileSync(join(path, '.gitignore'), 'ignored\n');
    writeFileSync(join(path, 'test.sh'), 'cp page ignored && [ -z "$(ls -A "$HOME")" ] && grep -q one page\n');
    writeFileSync(join(path, 'late.sh'), 'echo two >> page\n');
    writeFileSync(join(path, 'own.sh'), 'touch ran-own\n');
    symlinkSync('page', join(path, 'link'));
    symlinkSync('/usr', join(path, 'usr'));
    git(path, 'add', '.');
    git(path, 'commit', '--quiet', '-m', 'First');
    commit = git(path, 'rev-parse', 'HEAD');
    const program = daemon.program(
      'claimer',
      `async ({ call, messages }) => {
        const evidence = JSON.parse(messages[0].text.split('\\n')[0]);
        await call('send_message', { recipient: 'USER', text: 'Done.', evidence });
        return 'sent';
      }`,
    );
    await daemon.client.createAgent({ name: 'claimer', program, workspace: path });
  });
  afterAll(() => daemon.stop());

  /** Has the agent claim this in its reply; returns what the check found. */
  async function claim(evidence: readonly object[], wish = ''): Promise<readonly Evidence[]> {
    const { messageId } = await daemon.client.sendMessage('claimer', { text: `${JSON.stringify(evidence)}\n${wish}` });
    const reply = await until('the reply', () => daemon.client.awaitReply(messageId, 5));
    return until('the checks', async () => {
      const { evidence: found } = await daemon.client.getMessage(reply.messageId);
      return found.length > 0 && found.every(({ checkedAt }) => checkedAt !== null) ? found : null;
    });
  }
  const states = (found: readonly Evidence[]) => found.map(({ state }) => state);

  test('a commit is proven if it is in the repository, and its hash is computed from what it contains', async () => {
    const other = commit.replace(/./, (digit) => (digit === '0' ? '1' : '0'));
    const forged = 'f'.repeat(40);
    const text = execFileSync('git', ['cat-file', 'commit', commit], { cwd: path });
    mkdirSync(join(path, '.git/objects/ff'));
    writeFileSync(
      join(path, '.git/objects/ff', forged.slice(2)),
      deflateSync(Buffer.concat([Buffer.from(`commit ${text.length}\0`), text])),
    );
    expect(states(await claim([{ commit: other }, { commit: forged }]))).toEqual(['refuted', 'refuted']);
    expect(await claim([{ commit }])).toMatchObject([
      { state: 'proven', tree: git(path, 'rev-parse', 'HEAD^{tree}'), kind: 'commit', subject: commit },
    ]);
  });

  test('a file is proven by its hash; links and paths that lead out of the workspace are not followed', async () => {
    // Visible inside of the sandbox.
    const outside = '/usr/bin/env';
    const found = await claim([
      { file: 'page', sha256: sha256('one\n') },
      { file: 'page', sha256: sha256('two\n') },
      { file: 'link', sha256: sha256('one\n') },
      { file: outside, sha256: sha256(readFileSync(outside)) },
      { file: 'usr/bin/env', sha256: sha256(readFileSync(outside)) },
    ]);
    expect(states(found)).toEqual(['proven', 'refuted', 'refuted', 'refuted', 'refuted']);
    expect(found[1]?.detail).toContain(sha256('one\n'));
    expect(found.slice(2).map(({ detail }) => detail)).toEqual(
      Array(3).fill('There is no such file in the workspace.'),
    );
  });

  test('a command of the configuration is proven on a recorded tree, in a home of its own', async () => {
    const [found] = await claim([{ command: 'sh test.sh', exit_code: 0 }]);
    expect(found).toMatchObject({ state: 'proven', detail: 'It ended with 0.', expected: '0' });
    expect(found?.tree).toBe(git(path, 'rev-parse', 'HEAD^{tree}'));
    expect(states(await claim([{ command: 'sh test.sh', exit_code: 1 }]))).toEqual(['refuted']);
  });

  test('a command that changes the files proves nothing about them', async () => {
    const [found] = await claim([{ command: 'sh late.sh', exit_code: 0 }]);
    git(path, 'checkout', '--quiet', 'page');
    expect(found).toMatchObject({ state: 'ran', detail: 'It ended with 0. The files changed meanwhile.' });
  });

  test('a command of its own choice is not run, unless the person who asked named it', async () => {
    const own = [{ command: 'sh own.sh', exit_code: 0 }];
    expect(await claim(own, 'Run sh own.sh.')).toMatchObject([{ state: 'claimed', detail: /^Not run/ }].map(matching));
    expect(existsSync(join(path, 'ran-own'))).toBe(false);
    expect(states(await claim(own, 'Please.\nCheck: sh own.sh'))).toEqual(['ran']);
    expect(existsSync(join(path, 'ran-own'))).toBe(true);
  });

  test('a command that another person names is not run either', async () => {
    rmSync(join(path, 'ran-own'), { force: true });
    const program = daemon.program(
      'helper',
      `async ({ call, messages }) => {
        const evidence = [{ command: 'sh own.sh', exit_code: 0 }];
        const channelId = 'dm-guest-helper';
        await call('send_message', { channelId, text: 'Done.', in_reply_to: messages[0].id, evidence });
        return 'sent';
      }`,
    );
    await daemon.client.createAgent({ name: 'helper', program, workspace: path });
    const { token } = await daemon.client.createToken({ as: 'guest' });
    await daemon.client.createChannel({ id: 'shared', members: ['helper', 'guest'] });
    const { url } = await daemon.client.getStatus();
    const said = await fetch(`${url}/api/agents/helper/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Go.\nCheck: sh own.sh' }),
    });
    const { messageId } = (await said.json()) as { messageId: string };
    const reply = await until('the reply', () => daemon.client.awaitReply(messageId, 5));
    const found = await until('the checks', async () => {
      const { evidence } = await daemon.client.getMessage(reply.messageId);
      return evidence.length > 0 && evidence.every(({ checkedAt }) => checkedAt !== null) ? evidence : null;
    });
    expect(found).toMatchObject([{ state: 'claimed', detail: /^Not run/ }].map(matching));
    expect(existsSync(join(path, 'ran-own'))).toBe(false);
  });

  test("the repository's filters decide nothing: neither what runs nor the tree", async () => {
    const mark = join(daemon.directory, 'filter-ran');
    gitTraps['clean filter']?.set(path, `touch ${mark}; echo forged`);
    writeFileSync(join(path, 'test.sh'), 'exit 0\n');
    const [found, command] = await claim([{ commit }, { command: 'sh test.sh', exit_code: 0 }]);
    expect([found?.state, command?.state]).toEqual(['proven', 'proven']);
    const plain = mkdtempSync(join(daemon.directory, 'plain-'));
    cpSync(path, plain, { recursive: true, filter: (source) => !source.endsWith('/.git'), verbatimSymlinks: true });
    git(plain, 'init', '--quiet');
    git(plain, 'add', '.');
    expect(command?.tree).toBe(git(plain, 'write-tree'));
    expect(existsSync(mark)).toBe(false);
  });

  test('the run and the report show it', async () => {
    const [run] = (await daemon.client.listRuns({ agent: 'claimer', limit: 1 })).items;
    const shown = await runSubstrat(['run', 'show', run?.id ?? ''], { home: daemon.home });
    expect(shown.stdout).toContain(`proven: commit ${commit}`);
    const report = await createClient({ home: daemon.home }).getReport({});
    expect(report.evidence.length).toBeGreaterThan(10);
    expect(report.evidence).toContainEqual(
      expect.objectContaining({ agent: 'claimer', state: 'refuted', kind: 'file' }),
    );
    const text = (await runSubstrat(['report'], { home: daemon.home })).stdout;
    expect(text).toMatch(
      /What is proven\n[\s\S]*claimer: proven: command sh test.sh ends with 0[\s\S]*What is claimed or refuted/,
    );
  });
});

function matching({ state, detail }: { readonly state: string; readonly detail: RegExp }) {
  return { state, detail: expect.stringMatching(detail) };
}
