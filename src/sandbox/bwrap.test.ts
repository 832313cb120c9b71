import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noBwrap, noLimits } from '../../test/helpers/bwrap.ts';
import type { Bind, Endpoint, ModelAnswer, Needs } from '../core/command.ts';
import { createBwrap } from './bwrap.ts';
import type { Enclosure } from './sandbox.ts';

let root: string;
let substrat: string;
let enclosure: Enclosure;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bwrap-')));
  substrat = join(root, 'substrat');
  const directory = join(substrat, 'agents/1');
  const home = join(directory, 'home');
  const workspace = join(root, 'work/space');
  for (const path of [home, workspace, join(substrat, 'workspaces')]) mkdirSync(path, { recursive: true });
  enclosure = { workspace, home, directory, binds: [], hosts: [] };
});
afterEach(() => rmSync(root, { recursive: true }));

describe.skipIf(noBwrap !== null)('what a provider needs', () => {
  test('is mounted read-only in the workspace and can be neither changed nor renamed', async () => {
    const own = make('own', { 'mcp.json': 'ours' });
    const target = join(enclosure.workspace, '.cursor');
    const binds: Bind[] = [{ source: own, target, mode: 'ro' }];
    const said = await run(
      'cat .cursor/mcp.json; echo x > .cursor/mcp.json; rm .cursor/mcp.json; mv .cursor .other; rm -r .cursor; ' +
        'ln -s x .cursor/y; mount --bind /tmp .cursor; cat .cursor/mcp.json; ls -A',
      { needs: { binds } },
    );
    expect(said.stdout).toBe('oursours.cursor\n');
    expect(said.stderr).toMatch(/Read-only file system/);
    expect(said.stderr).toMatch(/mv: cannot move '.cursor' to '.other': Device or resource busy/);
    expect(readFileSync(join(own, 'mcp.json'), 'utf8')).toBe('ours');
  });

  test('is a file in the home, created if it does not exist', async () => {
    const own = make('own', { auth: 'login' });
    const target = join(enclosure.home, '.config/tool/auth.json');
    const binds: Bind[] = [{ source: join(own, 'auth'), target, mode: 'ro' }];
    const said = await run('cat ~/.config/tool/auth.json; echo x > ~/.config/tool/auth.json', { needs: { binds } });
    expect(said).toMatchObject({ stdout: 'login', stderr: expect.stringMatching(/Read-only/) });
  });

  test('may be behind a symlink of the person', async () => {
    symlinkSync(make('real', { auth: 'login' }), join(root, 'dotfiles'));
    const target = join(enclosure.home, 'auth');
    const binds: Bind[] = [{ source: join(root, 'dotfiles/auth'), target, mode: 'ro' }];
    expect(await run('cat ~/auth', { needs: { binds } })).toMatchObject({ stdout: 'login' });
  });
});

describe.skipIf(noBwrap !== null)('a symlink', () => {
  test.each(['/oldroot', ''])(
    'at a mount target is refused, and nothing is created at its destination (%s)',
    async (prefix) => {
      const outside = make('outside', {});
      const source = make('source', { file: 'x' });
      const { workspace, home } = enclosure;
      symlinkSync(`${prefix}${outside}`, join(workspace, 'link'));
      symlinkSync(`${prefix}${outside}/dangling`, join(workspace, 'dangling'));
      symlinkSync(`${prefix}${outside}/file`, join(home, 'login'));
      const targets = [join(workspace, 'link'), join(workspace, 'link/deep/er'), join(workspace, 'dangling')];
      for (const target of targets) {
        const binds: Bind[] = [{ source, target, mode: 'ro' }];
        await expect(run('true', { needs: { binds } })).rejects.toThrow(/is a symbolic link/);
      }
      const file: Bind = { source: join(source, 'file'), target: join(home, 'login'), mode: 'ro' };
      await expect(run('true', { needs: { binds: [file] } })).rejects.toThrow(/is a symbolic link/);
      expect(readdirSync(outside)).toEqual([]);
    },
  );

  test('in place of the workspace, or in its path, is refused', async () => {
    const outside = make('outside', { space: '' });
    rmSync(join(root, 'work'), { recursive: true });
    symlinkSync(outside, join(root, 'work'));
    await expect(run('true')).rejects.toThrow(/work in the path .* is a symbolic link/);
    rmSync(join(root, 'work'));
    mkdirSync(join(root, 'work'));
    symlinkSync(outside, join(root, 'work/space'));
    await expect(run('true')).rejects.toThrow(/work\/space is a symbolic link/);
  });

  test('that replaces the workspace after the check has no effect: the checked directory is mounted', async () => {
    const outside = make('outside', { secret: 'secret' });
    writeFileSync(join(enclosure.workspace, 'mine'), 'mine');
    const said = await run('ls', {
      meanwhile: () => {
        spawnSync('mv', [enclosure.workspace, join(root, 'work/moved')]);
        symlinkSync(outside, enclosure.workspace);
      },
    });
    expect(said.stdout).not.toContain('secret');
  });

  test('in the source of a workspace link is refused', async () => {
    const outside = make('outside', {});
    symlinkSync(outside, join(root, 'work/shared'));
    const bind: Bind = { source: join(root, 'work/shared'), target: join(enclosure.workspace, 'shared'), mode: 'rw' };
    await expect(run('true', { binds: [bind] })).rejects.toThrow(/is a symbolic link/);
  });
});

describe.skipIf(noBwrap !== null)('the home of Substrat', () => {
  test.each([
    ['the workspace holds it', () => root],
    ['the workspace is it', () => substrat],
    ['the workspace is what holds all workspaces', () => join(substrat, 'workspaces')],
    ['the workspace is of another agent’s directory', () => join(substrat, 'agents/2')],
    ['the workspace is the agent’s own directory, with its socket', () => join(substrat, 'agents/1')],
  ])('is not visible: %s', async (_, workspace) => {
    mkdirSync(join(substrat, 'agents/2'));
    enclosure = { ...enclosure, workspace: workspace() };
    await expect(run('true')).rejects.toThrow(/it would expose the home of Substrat/);
  });

  test('is not visible through a symlink', async () => {
    const bind: Bind = { source: substrat, target: join(enclosure.workspace, 'all'), mode: 'ro' };
    await expect(run('true', { binds: [bind] })).rejects.toThrow(/it would expose the home of Substrat/);
  });
});

describe.skipIf(noBwrap !== null)('a program', () => {
  test('is visible with its directory, wherever it is, under the name it was called by', async () => {
    const tool = make('tools/thing-1.2', {
      'main.sh': '#!/usr/bin/env sh\n. "$(dirname "$(readlink -f "$0")")/part"\n',
    });
    writeFileSync(join(tool, 'part'), 'echo "$0"');
    spawnSync('chmod', ['+x', join(tool, 'main.sh')]);
    mkdirSync(join(root, 'bin'));
    symlinkSync(join(tool, 'main.sh'), join(root, 'bin/thing'));
    const byPath = await start('thing', [], { PATH: `${join(root, 'bin')}:/usr/bin:/bin` });
    expect(byPath.stdout).toBe(`${join(root, 'bin/thing')}\n`);
  });

  test('in a directory that holds too much is visible alone', async () => {
    make('beside', {});
    make('.', { 'alone.sh': '#!/bin/sh\nls -A "$(dirname "$0")"' });
    spawnSync('chmod', ['+x', join(root, 'alone.sh')]);
    const { stdout } = await start(join(root, 'alone.sh'), [], { PATH: '/usr/bin:/bin' });
    expect(stdout.trim().split('\n').toSorted()).toEqual(['alone.sh', 'substrat', 'work']);
  });

  test('of the agent exposes nothing through a symlink in its place', async () => {
    const secret = make('secret', { key: 'secret', 'tool.sh': '#!/bin/sh\necho run' });
    spawnSync('chmod', ['+x', join(secret, 'tool.sh')]);
    const program = join(enclosure.workspace, 'agent.sh');
    symlinkSync(join(secret, 'tool.sh'), program);
    const { stderr } = await start(program, [], {}, { needs: { programs: [program] } });
    expect(stderr).toMatch(/No such file|not found/);
    const elsewhere = join(make('programs', {}), 'agent.sh');
    symlinkSync(join(secret, 'tool.sh'), elsewhere);
    const again = await start(elsewhere, [], {}, { needs: { programs: [elsewhere] } });
    expect(again.stderr).toMatch(/No such file|not found/);
  });

  test('of the agent exposes nothing through its shebang', async () => {
    const secret = make('secret', { tool: '#!/bin/sh\ncat "$(dirname "$0")/key"', key: 'secret' });
    make('programs', { 'agent.sh': `#!${secret}/tool\n` });
    spawnSync('chmod', ['+x', join(secret, 'tool'), join(root, 'programs/agent.sh')]);
    const program = join(root, 'programs/agent.sh');
    expect(await start(program, [], {}, { needs: { programs: [program] } })).toMatchObject({ stdout: '' });
    const trusted = await start(program, [], { PATH: '/usr/bin:/bin' });
    expect(trusted.stdout).toBe('secret');
  });

  test('that an agent may have chosen is only looked up in what is visible anyway', async () => {
    const secret = make('secret', { 'tool.sh': '#!/bin/sh\necho run' });
    spawnSync('chmod', ['+x', join(secret, 'tool.sh')]);
    const needs = { installed: false };
    expect((await start(join(secret, 'tool.sh'), [], {}, { needs })).stderr).toMatch(/No such file|not found/);
    expect(await start('/bin/echo', ['seen'], {}, { needs })).toMatchObject({ stdout: 'seen\n' });
  });

  test('that does not exist is reported', async () => {
    await expect(start('/nowhere/tool', [], {})).rejects.toThrow(/The program \/nowhere\/tool could not be started/);
  });
});

describe.skipIf(noBwrap !== null)('an endpoint', () => {
  test('is reached with a key that does not exist inside the sandbox', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers);
      response.end(request.url);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const needs = { endpoints: [{ variable: 'BASE_URL', url, headers: { 'x-api-key': 'KEY' } }] };
    const said = await run(
      'curl -s -H "x-api-key: mine" $BASE_URL/messages; cat /proc/*/environ | tr "\\0" "\\n"; exit 7',
      { needs },
    );
    server.close();
    expect(said.stdout).toMatch(/^\/v1\/messages/);
    expect(said.stdout).toMatch(/^BASE_URL=http:\/\/127.0.0.1:\d+\/0$/m);
    expect(said.stdout).not.toMatch(/KEY|PROXY/);
    expect(said.status).toBe(7);
    expect(seen).toMatchObject([{ 'x-api-key': 'KEY' }]);
  });

  test('with a dialect takes model requests only, and its key is nowhere inside', async () => {
    const seen: string[] = [];
    const server = createServer(async (request, response) => {
      seen.push(`${request.url} ${request.headers['x-api-key']} ${await text(request)}`);
      response.setHeader('set-cookie', 'account=1').setHeader('content-type', 'application/json');
      response.end('{"usage":{"input_tokens":3,"output_tokens":4}}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answers: ModelAnswer[] = [];
    const endpoint: Endpoint = {
      variable: 'ANTHROPIC_BASE_URL',
      url,
      headers: { 'x-api-key': 'SECRET-KEY' },
      dialect: 'anthropic',
      models: ['small'],
      onAnswer: (answer) => answers.push(answer),
    };
    const ask = (path: string, body: string) => `curl -s -i -d '${body}' $ANTHROPIC_BASE_URL${path};`;
    const said = await run(
      `${ask('/v1/messages', '{"model":"small"}')} ${ask('/v1/messages', '{"model":"large"}')} ${ask('/v1/files', '{}')}
      cat /proc/*/environ /proc/*/cmdline; grep -rs SECRET.KEY ~ /tmp /etc /run . ; true`,
      { needs: { endpoints: [endpoint] } },
    );
    server.close();
    expect(said.stdout).toContain('"output_tokens":4');
    expect(said.stdout).toContain('This agent may not use the model large. It may use: small.');
    expect(said.stdout).toContain('POST /v1/files is not a model request of this endpoint.');
    expect(said.stdout).not.toMatch(/SECRET-KEY|set-cookie/);
    expect(seen).toEqual(['/v1/messages SECRET-KEY {"model":"small"}']);
    expect(answers).toEqual([{ status: 200, model: 'small', inputTokens: 3, outputTokens: 4, retryAfterMs: null }]);
  });

  test.each(['127.0.0.1', 'localhost'])(
    'of this machine is at its own address inside if it is listed (%s)',
    async (host) => {
      const server = createServer((request, response) => response.end(`outside ${request.url}`));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const script = `curl -s http://${host}:${port}/api/tags; curl -s http://127.0.0.1:${port - 1}/ || echo " nothing else"`;
      const said = await run(script, { needs: { hosts: [`${host}:${port}`] } });
      server.close();
      expect(said).toMatchObject({ stdout: 'outside /api/tags nothing else\n', status: 0 });
      const closed = await run(`curl -s http://127.0.0.1:${port}/; echo $?`, { needs: { hosts: ['example.com'] } });
      expect(closed.stdout).toBe('7\n');
    },
  );

  test('and the launcher report how the program exited, or that it cannot be started', async () => {
    const needs = { hosts: ['example.com'] };
    expect((await run('kill -TERM $$', { needs })).status).toBe(128 + 15);
    const program = join(make('tools', { broken: 'no program' }), 'broken');
    expect(await start(program, [], {}, { needs })).toMatchObject({
      status: 126,
      stderr: expect.stringMatching(/Permission denied/),
    });
  });
});

describe.skipIf(noBwrap !== null)('a process of the turn', () => {
  test('finds no process to kill behind the port, and cannot take over the port', async () => {
    const server = createServer((_, response) => response.end('{"usage":7}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const needs = { endpoints: [{ variable: 'BASE_URL', url, headers: {} }] };
    const bind = `for (["127.0.0.1", 0], ["0.0.0.0", 0], ["127.0.0.1", 1]) { socket my $s, AF_INET, SOCK_STREAM, 0;
      setsockopt $s, SOL_SOCKET, $_, 1 for SO_REUSEADDR, $$_[1] ? SO_REUSEPORT : ();
      print bind($s, pack_sockaddr_in(18731, inet_aton($$_[0]))) && listen($s, 1) ? "bound" : $! + 0, "\n" }`;
    const script = `
      trap "" TERM HUP INT; kill -KILL -1 2>/dev/null
      cat /proc/[0-9]*/comm | grep -c -e node -e MainThread
      perl -MSocket -e '${bind}'
      ls -A /run
      curl -s $BASE_URL/`;
    const said = await run(script, { needs });
    server.close();
    expect(said).toMatchObject({ stdout: '0\n98\n98\n98\n{"usage":7}', status: 0 });
  });

  test('that starts while its port is opened gets no input if it has taken the port', async () => {
    const server = createServer((_, response) => response.end('{"usage":7}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const needs = { endpoints: [{ variable: 'BASE_URL', url, headers: {} }], waits: true };
    const bind = `socket my $s, AF_INET, SOCK_STREAM, 0; setsockopt $s, SOL_SOCKET, SO_REUSEADDR, 1;
      print bind($s, pack_sockaddr_in(18731, inet_aton("127.0.0.1"))) && listen($s, 1) ? "taken" : "refused";
      $| = 1; print <STDIN>`;
    const taking = await run(`perl -MSocket -e '${bind}'`, { needs, input: ' input' });
    // Whoever is first: nearly always the program, because the other one is Node.
    expect([`taken ${128 + 9}`, 'refused input 0']).toContain(`${taking.stdout} ${taking.status}`);
    const honest = await run('read word; echo $word; curl -s $BASE_URL/; ls /proc/self/fd', { needs, input: 'go\n' });
    expect(honest).toMatchObject({ stdout: expect.stringMatching(/^go\n{"usage":7}/), status: 0 });
    expect(honest.stdout).not.toMatch(/^5$/m);
    server.close();
  });

  test('cannot write to another process’s memory or anywhere else in /proc', async () => {
    const attempt = (path: string) => `(exec 9<>${path}) 2>&1 | grep -o 'Read-only file system' || echo open`;
    const paths = ['/proc/$PPID/mem', '/proc/1/mem', '/proc/$$/task/$$/mem', '/proc/self/oom_score_adj'];
    const said = await run(`sh -c '${paths.map((path) => attempt(path).replaceAll("'", `'"'"'`)).join('; ')}; true'`);
    expect(said.stdout).toBe('Read-only file system\n'.repeat(paths.length));
    expect((await run('echo out > /proc/self/fd/1; cat /proc/self/comm', {})).stdout).toMatch(/cat\n$/);
  });

  test('is not root if its program refuses that, and has its files', async () => {
    writeFileSync(join(enclosure.workspace, 'mine'), 'mine', { mode: 0o600 });
    const said = await run(
      'id -u; id -un; cat mine; echo made > made; stat -c %U made ~; cat /proc/sys/kernel/hostname',
      {
        needs: { refusesRoot: true },
      },
    );
    const uid = process.getuid?.() || 1000;
    expect(said).toMatchObject({ stdout: `${uid}\nagent\nmineagent\nagent\nsubstrat\n`, status: 0 });
    const { uid: owner } = lstatSync(join(enclosure.workspace, 'made'));
    expect(owner).toBe(process.getuid?.());
  });

  test('has no channel to the daemon', async () => {
    const { stdout } = await run('ls /proc/self/fd; env | grep NODE_CHANNEL; true', {
      needs: { hosts: ['example.com'] },
    });
    const open = stdout.trim().split('\n').map(Number);
    expect(open).toEqual(expect.arrayContaining([0, 1, 2]));
    expect(open).not.toEqual(expect.arrayContaining([5]));
    expect(stdout).not.toContain('NODE_CHANNEL');
  });
});

describe.skipIf(noBwrap !== null)('after a turn', () => {
  test('nothing is left in the agent’s directory, and no descriptor', async () => {
    const before = readdirSync('/proc/self/fd').length;
    for (let turn = 0; turn < 3; turn += 1) await run('true');
    expect(readdirSync(enclosure.directory)).toEqual(['home']);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
    await expect(run('true', { needs: { programs: ['/nowhere'] } })).rejects.toThrow();
    expect(readdirSync(enclosure.directory)).toEqual(['home']);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });
});

function make(name: string, files: Record<string, string>): string {
  const directory = join(root, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
  return directory;
}

interface Run {
  readonly needs?: Needs;
  readonly binds?: readonly Bind[];
  /** Given when the ports are open. */
  readonly input?: string;
  /** Runs between the check and the start. */
  readonly meanwhile?: () => void;
}

function run(script: string, options: Run = {}) {
  return start('sh', ['-c', script], { PATH: '/usr/bin:/bin' }, options);
}

async function start(
  file: string,
  args: readonly string[],
  env: Record<string, string>,
  { needs = {}, binds = [], input, meanwhile }: Run = {},
) {
  const sandbox = createBwrap({ home: substrat, path: process.env.PATH ?? '', limits: noLimits });
  const command = { file, args, cwd: enclosure.workspace, env };
  const confined = await sandbox.confine(command, needs, { ...enclosure, binds });
  meanwhile?.();
  const given = confined.command.files ?? [];
  const receiver = given.find((one) => typeof one === 'object');
  const files = given.map((one) => {
    if (typeof one === 'object') return 'ipc';
    return typeof one === 'number' ? one : openSync(one, 'r');
  });
  try {
    const child = spawn(confined.command.file, confined.command.args, {
      cwd: confined.command.cwd,
      env: confined.command.env,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...files],
    });
    let taken = 0;
    child.on('message', (_, listening) => {
      receiver?.receive(listening as Server, taken++);
      if (taken !== receiver?.count) return;
      child.disconnect();
      child.stdin?.end(input);
    });
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout as Readable),
      text(child.stderr as Readable),
      once(child, 'exit'),
    ]);
    return { stdout, stderr, status };
  } finally {
    closeSync(files[0] as number);
    await confined.release();
    expect(existsSync(enclosure.home) && lstatSync(enclosure.home).isDirectory()).toBe(true);
  }
}
