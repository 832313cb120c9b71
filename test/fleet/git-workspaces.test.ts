import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clearLeftovers } from '../../src/daemon/leftovers.ts';
import { clearLeftBehind } from '../../src/workspaces/left-behind.ts';
import { noBwrap } from '../helpers/bwrap.ts';
import type { TestDaemon } from '../helpers/daemon.ts';
import { startFleet } from '../helpers/fleet.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com', ...args], {
    cwd,
    encoding: 'utf8',
  }).trim();

const pick = ({ daemon: { store, home, log } }: TestDaemon) => ({ store, home, log });

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');
/** Does what it is told in a shell. */
const SHELL = `async ({ messages, call }) => {
  const [, subdir] = /^#spawn (.+)/.exec(messages[0].text) ?? [];
  if (subdir) {
    await call('spawn_agent', { name: 'helper', instructions: 'x', workspace_subdir: subdir });
    return 'ready';
  }
  const { execFileSync } = await import('node:child_process');
  return execFileSync('/bin/sh', ['-c', messages[0].text], { encoding: 'utf8' }) || 'done';
}`;

/** Real daemons that share a database and a repository for work in progress. */
async function createPlace() {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'wip-')));
  const [source, remote] = [join(directory, 'source'), join(directory, 'wip.git')];
  mkdirSync(source);
  git(source, 'init', '--quiet', '--initial-branch=main');
  writeFileSync(join(source, 'page'), 'one\n');
  writeFileSync(join(source, '.gitignore'), 'ignored\n');
  git(source, 'add', '.');
  git(source, 'commit', '--quiet', '-m', 'First');
  git(directory, 'init', '--quiet', '--bare', remote);
  const program = join(directory, 'shell.ts');
  writeFileSync(program, `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${SHELL});\n`);
  const database = await createDatabase();
  const running = new Map<string, Awaited<ReturnType<typeof startDaemonProcess>>>();
  onTestFinished(async () => {
    for (const daemon of running.values()) await daemon.kill();
    await database.drop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  });
  const start = async (name: string) => {
    const home = join(directory, name);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(
      join(home, 'config.toml'),
      `[db]\nurl = "${database.url}"\n[server]\nbind = "127.0.0.1:0"\n[daemon]\nlease = "4s"
[node]\nname = "${name}"\ndead_after = "5s"\nwip_remote = "${remote}"\n`,
    );
    const daemon = await startDaemonProcess({ home, cwd: home });
    running.set(name, daemon);
    const tell = async (agent: string, text: string) => {
      const { messageId } = await daemon.client.sendMessage(agent, { text });
      return (await daemon.client.awaitReply(messageId, 20))?.text ?? '';
    };
    return { ...daemon, home, tell };
  };
  return { directory, source, remote, program, start };
}

describeOnPostgres('a git workspace', () => {
  test.skipIf(noBwrap)(
    'is pushed after each turn and continues on another node as it was recorded',
    async () => {
      const { source, remote, program, start } = await createPlace();
      const a = await start('a');
      const b = await start('b');
      const made = await b.client.createAgent({ name: 'mason', program, node: 'b', clone: source });
      expect(readFileSync(join(made.workspace, 'page'), 'utf8')).toBe('one\n');
      expect(made).toMatchObject({ portability: 'not_yet', work: { commit: null, saved: false } });
      await b.tell(
        'mason',
        'git config user.name M; git config user.email m@x; echo two > page; git commit -qam Second',
      );
      const secret = `-----BEGIN ${'RSA'} PRIVATE KEY-----`;
      await b.tell('mason', `echo three > new; echo i > ignored; echo k > .env; echo '${secret}' > notes; touch a`);
      const saved = await b.client.getAgent('mason');
      expect(saved).toMatchObject({ portability: 'portable', work: { saved: true, problem: null } });
      expect(saved.work?.leftOut.toSorted()).toEqual([
        '.env (looks like a credential)',
        'notes (looks like a credential)',
      ]);
      const ref = `refs/substrat/wip/${made.id}`;
      expect(git(remote, 'rev-parse', ref)).toBe(saved.work?.commit);
      expect(git(remote, 'ls-tree', '--name-only', ref).split('\n')).toEqual(['.gitignore', 'a', 'new', 'page']);
      expect(git(remote, 'for-each-ref', '--format=%(refname)')).toBe(ref);
      expect(await a.client.getDiff('mason')).toMatchObject({ base: git(source, 'rev-parse', 'HEAD') });

      await b.kill();
      rmSync(made.workspace, { recursive: true });
      await until('it was taken over', async () => (await a.client.getAgent('mason')).node === 'a', 30_000);
      const said = await a.tell('mason', 'pwd; cat page new; git log --format=%s; git status --short; ls -A');
      expect(said).toContain(`${made.workspace}\ntwo\nthree\nSecond\nFirst\n?? a\n?? new\n`);
      expect(said).not.toMatch(/^(ignored|\.env|notes)$/m);
      const [run] = (await a.client.listRuns({ agent: 'mason' })).items;
      const record = JSON.stringify((await a.client.getRun(run?.id ?? '')).messages);
      expect(record).toContain(`The files of the workspace are as they were at the end of run ${saved.work?.runId}`);
      const now = await a.client.getAgent('mason');
      expect(now).toMatchObject({ workspace: made.workspace, portability: 'portable', work: { saved: true } });
      expect(git(remote, 'rev-parse', ref)).toBe(now.work?.commit);
      expect((await a.client.getFile('mason', 'new')).text).toBe('three\n');
      // A child's directory is made where the files are, not at the path inside.
      const spawn = await a.client.createAgent({
        name: 'apprentice',
        program,
        parent: 'mason',
        workspace: join(made.workspace, 'sub/one'),
      });
      expect(spawn).toMatchObject({ node: 'a', workspace: join(made.workspace, 'sub/one') });
      expect(await a.tell('apprentice', 'pwd')).toBe(`${made.workspace}/sub/one\n`);
      expect(await a.tell('mason', '#spawn sub/two')).toBe('ready');
      expect(await a.tell('mason', 'ls sub')).toBe('one\ntwo\n');
      expect(existsSync(made.workspace)).toBe(false);
    },
    240_000,
  );

  test.skipIf(noBwrap)(
    'continues from an older push only if the person agrees, and a failed push is shown on the agent',
    async () => {
      const { source, remote, program, start } = await createPlace();
      const a = await start('a');
      const b = await start('b');
      const made = await b.client.createAgent({ name: 'mason', program, node: 'b', clone: source });
      await b.tell('mason', 'echo two > page');
      const { work } = await b.client.getAgent('mason');
      expect(work).toMatchObject({ saved: true, problem: null });
      renameSync(remote, `${remote}.away`);
      expect(await b.tell('mason', 'echo three > page')).toBe('done');
      const unsaved = await b.client.getAgent('mason');
      expect(unsaved).toMatchObject({ portability: 'not_yet', work: { saved: false, commit: work?.commit } });
      expect(unsaved.work?.problem).toContain('git push failed');
      const shown = await runSubstrat(['agent', 'inspect', 'mason'], { home: b.home, cwd: b.home });
      expect(shown.stdout).toMatch(/not pushed\s+git push failed/);
      renameSync(`${remote}.away`, remote);

      await b.kill();
      const isLost = async () => (await a.client.getAgent('mason')).status?.kind === 'stranded';
      await until('its node is lost', isLost, 30_000);
      const told = await until('the owner is asked', async () =>
        (await a.client.listMessages('mason')).items.find(({ text }) => text.includes('sends no heartbeat')),
      );
      expect(told.text).toContain('The last turn of mason was not pushed (git push failed');
      expect(told.text).toContain(`as they were after run ${work?.runId}, without what it did later`);
      expect(told.text).toContain('run `substrat agent move mason --node a`');
      expect((await a.client.getAgent('mason')).node).toBe('b');

      await a.client.moveAgent('mason', { node: 'a' });
      expect(await a.tell('mason', 'cat page')).toBe('two\n');
      const [run] = (await a.client.listRuns({ agent: 'mason' })).items;
      const record = JSON.stringify((await a.client.getRun(run?.id ?? '')).messages);
      expect(record).toContain(`The files of the workspace are as they were at the end of run ${work?.runId}`);
      const now = await a.client.getAgent('mason');
      expect(now).toMatchObject({ node: 'a', workspace: made.workspace, work: { saved: true, problem: null } });
      expect(git(remote, 'rev-parse', `refs/substrat/wip/${made.id}`)).toBe(now.work?.commit);
      // The node is back with its own files: it neither pushes nor runs anything.
      const again = await start('b');
      expect(readFileSync(join(made.workspace, 'page'), 'utf8')).toBe('three\n');
      expect(await again.tell('mason', 'cat page')).toBe('two\n');
      expect((await again.client.getAgent('mason')).node).toBe('a');
    },
    240_000,
  );
});

describeOnPostgres('a node that drains', () => {
  test.skipIf(noBwrap)(
    'gives git workspaces to others, with their files, and removes its own after a week',
    async () => {
      const { source, remote, program } = await createPlace();
      const config = `[daemon]\nlease = "4s"\n[node]\ndead_after = "5s"\nwip_remote = "${remote}"\n`;
      const fleet = await startFleet(['a', 'b'] as const, () => ({ sandbox: 'bwrap', config }));
      const { a, b } = fleet;
      const tell = async (name: string, text: string) => {
        const { messageId } = await a.client.sendMessage(name, { text });
        return (await a.client.awaitReply(messageId, 20))?.text ?? '';
      };
      const made = await b.client.createAgent({ name: 'mason', program, node: 'b', clone: source });
      const failing = await b.client.createAgent({ name: 'failing', program, node: 'b', clone: source });
      await tell('mason', 'echo two > page; echo i > ignored');
      await tell('failing', 'echo two > page');
      // Its files are those of a turn that did not end well, so they were not pushed.
      expect(await tell('failing', 'echo three > page; exit 1')).toContain('Command failed');
      const workspaces = dirname(made.workspace);
      await a.client.drainNode('b');
      await until('it has moved', async () => (await a.client.getAgent('mason')).node === 'a', 30_000);
      expect(await tell('mason', 'pwd; cat page; ls')).toBe(`${made.workspace}\ntwo\npage\n`);
      expect((await a.client.getAgent('failing')).node).toBe('b');
      expect(readFileSync(join(failing.workspace, 'page'), 'utf8')).toBe('three\n');

      const { store, workspaces: rules } = b.daemon.api;
      const outside = join(b.directory, 'outside');
      mkdirSync(outside);
      writeFileSync(join(outside, 'file'), 'precious');
      symlinkSync(outside, join(made.workspace, 'out'));
      symlinkSync(outside, join(workspaces, `${made.id}.7`));
      const left = () => readdirSync(workspaces).filter((name) => name.startsWith(made.id));
      const now = Date.now();
      await clearLeftBehind(store, rules, now);
      const names = [`${made.id}.7`, `${made.id}.git.left-${now}`, `${made.id}.left-${now}`];
      expect(left().toSorted()).toEqual(names);
      expect(readFileSync(join(workspaces, names[2] as string, 'ignored'), 'utf8')).toBe('i\n');
      const week = 7 * 24 * 3_600_000;
      await clearLeftBehind(store, rules, now + week);
      expect(left().toSorted()).toEqual(names);
      await clearLeftBehind(store, rules, now + week + 1);
      expect(left()).toEqual([`${made.id}.7`]);
      expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('precious');
      // What is in use stays, on both nodes.
      await clearLeftBehind(a.daemon.api.store, a.daemon.api.workspaces, now);
      expect(await tell('mason', 'cat page')).toBe('two\n');
      expect(existsSync(join(failing.workspace, 'page')) && existsSync(`${failing.workspace}.git`)).toBe(true);

      const oldHome = join(b.home, 'agents', made.id, 'home');
      const clear = (of: TestDaemon, at: number) =>
        clearLeftovers({ ...pick(of), wipRemote: remote, isLive: () => false }, at);
      await clear(b, now + week - 600_000);
      expect(existsSync(oldHome)).toBe(true);
      await clear(b, now + week + 1);
      expect(existsSync(oldHome)).toBe(false);
      expect(existsSync(join(b.home, 'agents', failing.id, 'home'))).toBe(true);
      await clear(a, now + week + 1);
      expect(existsSync(join(a.home, 'agents', made.id, 'home'))).toBe(true);

      await a.client.terminateAgent('mason');
      await a.client.deleteWorkspace('mason');
      const there = readdirSync(join(a.home, 'workspaces'));
      expect(there.filter((name) => name.startsWith(made.id))).toEqual([]);
      const refs = () => execFileSync('git', ['ls-remote', remote], { encoding: 'utf8' });
      await clear(a, Date.now() + week - 600_000);
      expect(refs()).toContain(made.id);
      await clear(a, Date.now() + week + 1);
      expect(refs()).not.toContain(made.id);
      expect(refs()).toContain(failing.id);
    },
    240_000,
  );
});
