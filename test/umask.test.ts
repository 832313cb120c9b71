import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { noBwrap } from './helpers/bwrap.ts';
import { ctxLauncher } from './helpers/ctx.ts';
import { hostile } from './helpers/hostile.ts';
import { launcher, startDaemonProcess } from './helpers/substrat.ts';

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'umask-')));
});
afterEach(() => rmSync(root, { recursive: true }));

const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);

test.for(['none', ...(noBwrap === null ? ['bwrap'] : [])])(
  "files of agents follow the user's umask, and Substrat's own files are private (%s)",
  { timeout: 60_000 },
  async (mode) => {
    const program = join(root, 'substrat.sh');
    writeFileSync(program, `#!/bin/sh\numask 027\nexec ${launcher} "$@"\n`);
    chmodSync(program, 0o755);
    const home = join(root, 'home');
    const config = join(root, 'test.toml');
    writeFileSync(config, `[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "${mode}"\n`);
    const project = join(root, 'project');
    mkdirSync(project);
    const daemon = await startDaemonProcess({ home, program, config });
    try {
      const workspace = join(project, 'new/workspace');
      await daemon.client.createAgent({ name: 'dev', program: hostile, workspace });
      const { messageId } = await daemon.client.sendMessage('dev', {
        text: `
          fs.writeFileSync('file', '');
          fs.mkdirSync('directory');
          children.execSync('touch made-by-tool');
          await call('spawn_agent', { name: 'child', instructions: 'x', workspace_subdir: 'sub/deep' });`,
      });
      expect(await daemon.client.awaitReply(messageId, 30)).toMatchObject({ kind: 'reply', text: 'null' });
      const made = ['', 'file', 'directory', 'made-by-tool', 'sub', 'sub/deep'].map((name) => join(workspace, name));
      expect([...made, join(project, 'new')].map(modeOf)).toEqual(['750', '640', '750', '640', '750', '750', '750']);
      expect(readableByOthers(home)).toEqual([]);
    } finally {
      await daemon.stop();
    }
    expect(readableByOthers(home)).toEqual([]);
  },
);

test("ctx agent init writes a script with the user's umask, and its own files are private", () => {
  const ctx = (...args: string[]) => {
    const said = spawnSync('sh', ['-c', 'umask 027; exec "$@"', 'sh', ctxLauncher, ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: root, SUBSTRAT_HOME: join(root, 'home') },
      encoding: 'utf8',
    });
    expect(said).toMatchObject({ status: 0 });
  };
  ctx('agent', 'init', 'reviewer');
  expect([modeOf(join(root, 'agents')), modeOf(join(root, 'agents/reviewer.lua'))]).toEqual(['750', '640']);
  ctx('init');
  const own = readableByOthers(root).filter((path) => !/^(agents|agents\/.*|\.npm.*)$/.test(path));
  expect(own).toEqual([]);
});

/** Files that others could read, except for an agent's own. */
function readableByOthers(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/^agents\/[^/]+\/home\//.test(path))
    .filter((path) => (lstatSync(join(directory, path)).mode & 0o077) !== 0);
}
