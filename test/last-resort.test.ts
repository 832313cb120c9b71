import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runSubstrat, startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

let directory: string;
let home: string;
let config: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'last-resort-'));
  home = join(directory, 'home');
  config = join(directory, 'test.toml');
  mkdirSync(home, { mode: 0o700 });
  configure('');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const configure = (more: string) =>
  writeFileSync(config, `[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n${more}`);
const log = () => readFileSync(join(home, 'daemon.log'), 'utf8');

test('the daemon survives an unhandled error of one connection, and exits on one that leaves its state in doubt', async () => {
  const fault = join(directory, 'fault.mjs');
  writeFileSync(
    fault,
    `import { Socket } from 'node:net';
process.on('SIGUSR2', () => new Socket().emit('error', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })));
process.on('SIGWINCH', () => void Promise.reject(new TypeError('half done')));`,
  );
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(fault).href}` };
  const daemon = await startDaemonProcess({ home, config, env });
  process.kill(daemon.pid, 'SIGUSR2');
  await until('the log has it', () => log().includes('the daemon continues'));
  expect(await daemon.client.getStatus()).toMatchObject({ pid: daemon.pid });
  process.kill(daemon.pid, 'SIGWINCH');
  expect(await daemon.ended).toBe(1);
  expect(log()).toMatch(/half done.*the daemon dies/);
}, 60_000);

test.each([
  ['a link that leads elsewhere', () => symlinkSync('/etc/hostname', join(directory, 'AGENTS.md')), 'points outside'],
  ['a FIFO', () => execFileSync('mkfifo', [join(directory, 'AGENTS.md')]), 'not a regular file'],
  ['a directory', () => mkdirSync(join(directory, 'AGENTS.md')), 'not a regular file'],
  ['too large', () => writeFileSync(join(directory, 'AGENTS.md'), 'x'.repeat(1_000_001)), 'more than 1000000 bytes'],
])(
  'instructions that are %s are refused at startup',
  async (_, place, problem) => {
    place();
    configure('[members.lead]\nprovider = "external"\ninstructions_file = "AGENTS.md"\n');
    const { code, stderr } = await runSubstrat(['up', '--config', config], { home });
    expect(code).toBe(1);
    expect(stderr).toContain('[members.lead] instructions_file: ');
    expect(stderr).toContain(problem);
  },
  60_000,
);

test('instructions may be a symlink to a file next to them', async () => {
  writeFileSync(join(directory, 'AGENTS.md'), 'Be kind.');
  symlinkSync('AGENTS.md', join(directory, 'CLAUDE.md'));
  configure('[members.lead]\nprovider = "external"\ninstructions_file = "CLAUDE.md"\n');
  const daemon = await startDaemonProcess({ home, config });
  expect(await daemon.client.getAgent('lead')).toMatchObject({ instructions: 'Be kind.' });
  await daemon.stop();
}, 60_000);

test('a script that is a FIFO is reported and does not prevent the start', async () => {
  execFileSync('mkfifo', [join(directory, 'x.lua')]);
  configure('[agents.script.x]\npath = "x.lua"\n');
  const daemon = await startDaemonProcess({ home, config });
  await until('the log has it', () => log().includes('x.lua: it is not a regular file'));
  await daemon.stop();
}, 60_000);
