import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { processesOf } from '../../../test/helpers/run-processes.ts';
import { changed, makeTurn } from '../provider.testsuite.ts';
import type { Turn } from '../provider.ts';
import { openWorkspace, type Workspace } from './workspace.ts';
import { type WorkspaceTool, workspaceTools } from './workspace-tools.ts';

let turn: Turn;
let workspace: Workspace;
const env = { PATH: process.env.PATH ?? '' };

beforeEach(() => {
  turn = makeTurn(mkdtempSync(join(tmpdir(), 'workspace-')));
  workspace = openWorkspace(turn, env);
});
afterEach(async () => {
  await workspace.close();
  expect(processesOf(turn.runId)).toEqual([]);
  rmSync(turn.workspace, { recursive: true });
});

const call = (tool: WorkspaceTool, args: object, at = workspace) =>
  at.call(tool, workspaceTools[tool].input.parse(args));
const text = async (...asked: Parameters<typeof call>) => (await call(...asked)).text;
const inside = (name: string) => join(turn.workspace, name);

describe('workspace tools', () => {
  test('write, read, edit, list and search files', async () => {
    expect(await text('write_file', { path: 'a/b.ts', content: 'one\ntwo\nthree\n' })).toBe('Wrote a/b.ts: 14 bytes.');
    expect(await text('read_file', { path: 'a/b.ts', offset: 2, limit: 1 })).toBe('2\ttwo\n[1 more lines]');
    expect(await text('edit_file', { path: 'a/b.ts', old_text: 'two', new_text: '$& 2' })).toBe(
      'Replaced 1 in a/b.ts.',
    );
    expect(readFileSync(inside('a/b.ts'), 'utf8')).toBe('one\n$& 2\nthree\n');
    expect(await text('list_files', {})).toBe('a/\na/b.ts');
    expect(await text('search_files', { pattern: 'thr(e+)', include: '*.ts' })).toBe('./a/b.ts:3:three\n');
    expect(await text('search_files', { pattern: '-e', path: 'a' })).toBe('Nothing matches.');
  });

  test('say what is wrong', async () => {
    writeFileSync(inside('twice'), 'x x');
    writeFileSync(inside('binary'), Buffer.from([1, 0, 2]));
    expect(await call('read_file', { path: 'gone' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/no such file/),
    });
    expect(await call('read_file', { path: '.' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/not a regular file/),
    });
    expect(await call('read_file', { path: '/dev/zero' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/not a regular file/),
    });
    expect(await call('read_file', { path: 'binary' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/not a text file/),
    });
    const edit = { path: 'twice', old_text: 'x', new_text: 'y' };
    expect(await call('edit_file', edit)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/contains old_text 2 times/),
    });
    expect(await text('edit_file', { ...edit, replace_all: true })).toBe('Replaced 2 in twice.');
    expect(await call('edit_file', edit)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/does not contain/),
    });
  });

  test('run commands with a limit of time and output', async () => {
    expect(await call('run_command', { command: 'echo out; echo err >&2; exit 4' })).toEqual({
      text: expect.stringMatching(/out\nerr\n\[exit code 4\]|err\nout\n\[exit code 4\]/),
      isError: true,
      images: [],
    });
    const slow = await call('run_command', { command: 'sleep 60 & sleep 60', timeout_seconds: 1 });
    expect(slow).toMatchObject({ isError: true, text: '[ended after 1 seconds]' });
    const loud = await text('run_command', { command: 'head -c 3000000 /dev/zero | tr "\\0" x; echo END' });
    expect(loud.length).toBeLessThan(61_000);
    expect(loud).toContain('END\n[exit code 0]');
    // What a command leaves in the background does not hold it up, and ends with it.
    expect(await text('run_command', { command: 'sleep 600 & echo started' })).toBe('started\n[exit code 0]');
  });

  test('go on in a new process after a command has killed it, and tell that the outcome is unknown', async () => {
    const killed = await call('run_command', { command: 'kill -9 $PPID' });
    expect(killed).toMatchObject({ isError: true, text: expect.stringMatching(/outcome is unknown/) });
    expect(await text('run_command', { command: 'echo again' })).toBe('again\n[exit code 0]');
    for (let n = 0; n < 12; n += 1) await call('run_command', { command: 'kill -9 $PPID' });
    expect(await text('run_command', { command: 'echo again' })).toMatch(/ended too often/);
  });

  test('throw what onSpawn throws', async () => {
    const fenced = openWorkspace(changed(turn, { onSpawn: () => Promise.reject(new Error('fenced')) }), env);
    await expect(call('list_files', {}, fenced)).rejects.toThrow('fenced');
    await fenced.close();
  });
});

/** A program in the place of the helper, which any process of the turn could put there. */
function impostor(source: string): Workspace {
  const file = inside('impostor.cjs');
  writeFileSync(file, source);
  const confine: Turn['launch']['confine'] = async (command) => ({ ...command, args: [file] });
  return openWorkspace(changed(turn, { confine }), env);
}

describe('a hostile helper', () => {
  const answering = (answer: string) =>
    `require('readline').createInterface({input:process.stdin}).on('line', (line) => { const { id } = JSON.parse(line); ${answer} });`;
  const say = (value: string) => `console.log(JSON.stringify(${value}));`;

  test('is not believed what it answers in another form, to another call, or twice', async () => {
    const nonsense = [
      "console.log('no json'); console.log('[[[[');",
      say('{ id: id + 1, text: "to a later call" }'),
      say('{ id: String(id), text: "x" }'),
      say('{ id, text: 1 }'),
      say('{ id, text: "x", images: [{ mediaType: "text/html", data: "aa" }] }'),
      say('{ id, text: "x", images: [{ mediaType: "image/png", data: "no base64!" }] }'),
      say('{ id, text: "first", isError: false, more: 1 }'),
      say('{ id, text: "second" }'),
    ].join('');
    const hostile = impostor(answering(nonsense));
    expect(await call('list_files', {}, hostile)).toEqual({ text: 'first', isError: false, images: [] });
    expect(await text('list_files', {}, hostile)).toBe('first');
    await hostile.close();
  });

  test('is cut, and cannot fill the memory', async () => {
    const long = answering(
      `${say('{ id, text: "x".repeat(9_000_000) }')} ${say('{ id, text: "y".repeat(2_000_000) + "\\0" }')}`,
    );
    const hostile = impostor(long);
    const said = await text('list_files', {}, hostile);
    expect(said).toMatch(/^y+\n\[cut: too long\]$/);
    expect(said.length).toBeLessThan(61_000);
    await hostile.close();
  });

  test('that says nothing and ends is an unknown outcome', async () => {
    const hostile = impostor('process.stderr.write("bye"); process.exit(0)');
    expect(await text('list_files', {}, hostile)).toMatch(/outcome is unknown\. bye/);
    await hostile.close();
  });
});

test('a link out of the workspace is not special: the sandbox decides what is there', async () => {
  mkdirSync(inside('real'));
  writeFileSync(inside('real/file'), 'text');
  symlinkSync(inside('real'), inside('link'));
  chmodSync(inside('real/file'), 0o600);
  expect(await text('read_file', { path: 'link/file' })).toBe('1\ttext');
});
