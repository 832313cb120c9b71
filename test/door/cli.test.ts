import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeCommands } from '../../src/cli/docs.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createProgram as createCtx } from '../../src/ctx/program.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const root = join(import.meta.dirname, '../..');
let directory: string;
let home: string;
let daemon: Awaited<ReturnType<typeof startDaemonProcess>>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cli-'));
  home = join(directory, 'home');
  daemon = await startDaemonProcess({ home });
  const library = join(root, 'src/scripted/scripted.ts');
  const echo = (path: string, source: string) =>
    writeFileSync(
      join(directory, path),
      `import { runAgent, TurnError } from '${library}';\nawait runAgent(${source});\n`,
    );
  echo('echo.ts', "({ messages }) => 'echo: ' + messages[0].text");
  echo('limited.ts', "() => { throw new TurnError('rate_limit', 'Too many.', { retryAfterMs: 3_600_000 }); }");
  echo('broken.ts', "() => { throw new Error('it broke'); }");
  echo(
    'chooser.ts',
    "async ({ call, messages }) => { if (messages[0].kind !== 'request') return 'chose ' + messages[0].text; await call('ask_person', { question: 'Which branch?', options: ['main', 'next'] }); }",
  );
  echo(
    'curious.ts',
    "async ({ call, messages }) => { if (messages[0].kind === 'request') await call('send_message', { recipient: 'USER', text: 'Which?', sync: true }); return 'thanks for ' + messages[0].text; }",
  );
  await run(['agent', 'create', 'echo', '--program', join(directory, 'echo.ts'), '--instructions', 'Say it again.']);
});

afterAll(async () => {
  await daemon.stop();
  rmSync(directory, { recursive: true });
});

async function run(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runSubstrat(args, { home });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

/** With --json, stdout has exactly one JSON value, whatever the command. */
async function json(args: readonly string[]): Promise<Record<string, unknown>> {
  const text = await run([...args, '--json']);
  expect(text.trim().split('\n')).toHaveLength(1);
  return JSON.parse(text);
}

async function fails(args: readonly string[], code: number): Promise<string> {
  const result = await runSubstrat(args, { home });
  expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' });
  return result.stderr;
}

describe('agent', () => {
  test('send --wait prints the answer, also as JSON', async () => {
    expect(await run(['agent', 'send', 'echo', 'hello', '--wait'])).toBe('echo: hello\n');
    expect(await json(['agent', 'send', 'echo', 'again', '--wait'])).toEqual({
      messageId: expect.any(String),
      reply: { messageId: expect.any(String), from: 'echo', text: 'echo: again' },
    });
  });

  test('send --wait for an agent that cannot answer prints its error and fails', async () => {
    await run(['agent', 'create', 'broken', '--program', join(directory, 'broken.ts')]);
    const { code, stdout, stderr } = await runSubstrat(['agent', 'send', 'broken', 'x', '--wait'], { home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^substrat: broken could not answer: .*it broke/);
  });

  test('list and inspect show what blocks an agent', async () => {
    await run(['agent', 'create', 'limited', '--program', join(directory, 'limited.ts')]);
    expect(await json(['agent', 'inspect', 'limited'])).toMatchObject({ state: 'idle', status: null, paused: null });
    await run(['agent', 'send', 'limited', 'x']);
    const status = async () => (await json(['agent', 'inspect', 'limited'])).status;
    await until('the rest', async () => ((await status()) as { kind: string } | null)?.kind === 'resting');
    const [day] = new Date(Date.now() + 3_600_000).toISOString().split('T');
    const resting = {
      kind: 'resting',
      reason: 'Too many.',
      since: expect.any(String),
      until: expect.stringContaining(`${day}T`),
    };
    expect(await status()).toEqual(resting);
    const { items } = (await json(['agent', 'list'])) as { items: { handle: string; status: object | null }[] };
    expect(items.find(({ handle }) => handle === 'limited')).toMatchObject({ state: 'idle', status: resting });
    expect(items.find(({ handle }) => handle === 'echo')).toMatchObject({ status: null });
    expect(await run(['agent', 'list'])).toMatch(
      /^AGENT +STATE .*\n(.*\n)*limited +resting until [\w ]*\d\d:\d\d: Too many\. +worker/,
    );
    expect(await run(['agent', 'inspect', 'limited'])).toMatch(/^limited is resting until .*: Too many\.$/m);
    await run(['agent', 'terminate', 'limited']);
  });

  test('inspect, list and terminate', async () => {
    expect(await run(['agent', 'inspect', 'echo'])).toContain('Say it again.');
    expect(await json(['agent', 'inspect', 'echo'])).toMatchObject({ name: 'echo', runs: expect.any(Array) });
    expect(await run(['agent', 'list'])).toMatch(/^AGENT .*\n(.*\n)*echo +idle/);
    await run(['agent', 'create', 'short-lived', '--provider', 'external']);
    expect(await json(['agent', 'terminate', 'short-lived'])).toMatchObject({ status: 'terminated' });
    expect(await run(['agent', 'list'])).not.toContain('short-lived');
    expect(await run(['agent', 'list', '--all'])).toMatch(/short-lived +terminated/);
  });

  test('an ambiguous REF lists the candidates; a path is not ambiguous', async () => {
    for (const parent of ['left', 'right']) {
      await run(['agent', 'create', parent, '--provider', 'external']);
      await run(['agent', 'create', 'twin', '--provider', 'external', '--parent', parent]);
    }
    expect(await json(['agent', 'inspect', 'twin'])).toMatchObject({ handle: 'twin' });
    await run(['agent', 'create', 'twin', '--provider', 'external', '--parent', 'echo']);
    await run(['agent', 'terminate', 'left/twin']);
    expect(await fails(['agent', 'inspect', 'twin'], 1)).toMatch(/right\.twin \(.*echo\.twin \(/);
    expect(await run(['agent', 'list'])).toMatch(/^right +idle.*\n {2}right\.twin +idle/m);
    expect(await json(['agent', 'inspect', 'right/twin'])).toMatchObject({ handle: 'right.twin' });
    expect(await fails(['agent', 'inspect', 'nobody'], 1)).toMatch(/There is no agent "nobody". Run/);
    expect(await fails(['agent', 'send', 'rihgt', 'hello'], 1)).toMatch(
      /There is no agent "rihgt". Did you mean "right"\?/,
    );
  });
});

describe('memory', () => {
  test('blocks are set, shown, listed, shared, deleted and restored', async () => {
    expect(await run(['memory', 'set', 'echo', 'mood', 'calm'])).toBe('Saved mood (version 1).\n');
    expect(await json(['memory', 'set', 'echo', 'mood', 'happy', '--if-version', '1'])).toMatchObject({ version: 2 });
    expect(await fails(['memory', 'set', 'echo', 'mood', 'late', '--if-version', '1'], 1)).toMatch(/is at version 2/);
    expect(await fails(['memory', 'set', 'echo', 'mood', 'late', '--if-version', 'x'], 2)).toMatch(/whole number/);
    expect(await run(['memory', 'show', 'echo', 'mood'])).toBe('happy\n');
    expect(await run(['memory', 'history', 'echo', 'mood'])).toMatch(/^VERSION .*\n2 .*user +happy\n1 .*calm\n$/);
    await run(['memory', 'set', 'user', 'plan', 'ours']);
    expect(await run(['memory', 'share', 'user', 'plan', '--with', 'echo'])).toBe(
      'plan is visible to user and echo.\n',
    );
    expect(await run(['memory', 'list', 'echo'])).toMatch(/mood +2 +echo .*\nplan +1 +user +echo +ours/);
    expect(await run(['memory', 'delete', 'echo', 'mood'])).toBe('Deleted mood.\n');
    expect(await fails(['memory', 'show', 'echo', 'mood'], 1)).toMatch(/no block "mood"/);
    expect(await json(['memory', 'restore', 'echo', 'mood', '1'])).toMatchObject({ text: 'calm', version: 4 });
    const prompt = await run(['agent', 'prompt', 'echo']);
    for (const part of ['[memory, about', '### mood\ncalm', '### plan\nours', 'tokens in total'])
      expect(prompt).toContain(part);
    expect(await json(['agent', 'prompt', 'echo'])).toMatchObject({ sections: expect.any(Array) });
  });

  test('passages are stored, searched, listed and forgotten', async () => {
    const stored = await json(['memory', 'store', 'echo', 'The server is called otter.', '--tags', 'ops,names']);
    expect(await run(['memory', 'search', 'echo', '"otter'])).toContain('The server is called otter.');
    expect(await run(['memory', 'search', 'echo', 'otter', '--tag', 'other'])).toBe('No passages found.\n');
    expect(await json(['memory', 'passages', 'echo', '--tag', 'ops'])).toMatchObject({
      items: [{ tags: ['ops', 'names'] }],
    });
    expect(await fails(['memory', 'passages', 'echo', '--since', 'yesterday'], 1)).toMatch(/since/);
    expect(await run(['memory', 'forget', 'echo', stored.passageId as string])).toBe('Deleted the passage.\n');
  });
});

describe('inbox', () => {
  test('a question is shown with its options and how to answer, and is answered once', async () => {
    await run(['agent', 'create', 'chooser', '--program', join(directory, 'chooser.ts')]);
    await run(['agent', 'send', 'chooser', 'choose']);
    let asked: { id: string } | undefined;
    while (!asked) asked = ((await json(['inbox', '--open'])).questions as { id: string }[])[0];
    const shown = await run(['inbox', '--open']);
    expect(shown).toContain(
      `chooser asks\n  Which branch?\n  1. main\n  2. next\n  substrat answer ${asked.id.slice(-6)} "…"`,
    );
    expect(await run(['answer', asked.id.slice(-6), 'next'])).toBe('Answered chooser\n');
    expect(await fails(['answer', asked.id, 'main'], 1)).toContain('closed: answered by user');
    expect(await fails(['approve', asked.id], 1)).toContain('closed');
    expect(await fails(['reject', 'none'], 1)).toContain('no question');
    expect(await run(['inbox', '--open'])).toBe('No open questions.\n');
  });

  test('shows open questions, and an answer closes them', async () => {
    await run(['agent', 'create', 'curious', '--program', join(directory, 'curious.ts')]);
    const sent = await json(['agent', 'send', 'curious', 'go']);
    let question: { messageId: string; text: string } | undefined;
    while (!question) question = ((await json(['inbox', '--open'])).items as { messageId: string; text: string }[])[0];
    expect(question.text).toBe('Which?');
    const short = question.messageId.slice(-6);
    const shown = await run(['inbox', 'show', short]);
    expect(shown).toMatch(new RegExp(`^curious .* ${short}\n  Which\\?\ncurious waits .* reply ${short}`));
    expect(await run(['agent', 'list'])).toMatch(/^curious +waiting for you since \d+ s/m);
    expect(await run(['inbox', 'reply', short, 'the red one'])).toBe('Answered curious.\n');
    const reply = await daemon.client.awaitReply(sent.messageId as string, 10);
    expect(reply?.text).toBe('thanks for the red one');
    expect(await run(['inbox', '--open'])).toBe('No open questions.\n');
    expect(await run(['inbox'])).toMatch(/^ID +FROM +KIND/);
  });
});

test('the terminal obeys no text that somebody wrote', async () => {
  const evil = 'a\x1b]52;c;ZXZpbA==\x07b\x1b[2Jc\u009b31md\re\x7ff\r\ng\x1b[31mh\u202ei\u{e0041}';
  await run(['memory', 'set', 'user', 'evil', evil]);
  const shown =
    'a\\u001b]52;c;ZXZpbA==\\u0007b\\u001b[2Jc\\u009b31md\\u000de\\u007ff\r\ng\\u001b[31mh\\u202ei\\udb40\\udc41\n';
  expect(await run(['memory', 'show', 'user', 'evil'])).toBe(shown);
  expect(await json(['memory', 'show', 'user', 'evil'])).toMatchObject({ text: evil });
  expect(await fails(['memory', 'show', 'user', '\x1b[2J'], 1)).not.toContain('\x1b');
});

describe('run', () => {
  test('list, show and cancel', async () => {
    await run(['agent', 'send', 'echo', 'look at me', '--wait']);
    const { items } = (await json(['run', 'list', '--agent', 'echo', '--limit', '1'])) as { items: { id: string }[] };
    const id = items[0]?.id as string;
    expect(await run(['run', 'show', id])).toContain('look at me');
    expect(await json(['run', 'show', id])).toMatchObject({ id, state: 'completed' });
    expect(await fails(['run', 'cancel', id], 1)).toMatch(/has completed already/);
    expect(await fails(['run', 'list', '--state', 'flying'], 2)).toMatch(/Allowed choices/);
  });
});

describe('watch', () => {
  test('follows events, one JSON value per line, until it is interrupted', async () => {
    const { spawn } = await import('node:child_process');
    const child = spawn(join(root, 'bin/substrat'), ['watch', '--json', '--after', '0', '--agent', 'echo'], {
      env: { PATH: process.env.PATH, SUBSTRAT_HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines: string[] = [];
    await new Promise<void>((resolve) => {
      let rest = '';
      child.stdout.on('data', (chunk) => {
        const parts = (rest + String(chunk)).split('\n');
        rest = parts.pop() ?? '';
        lines.push(...parts);
        if (lines.length > 2) resolve();
      });
    });
    child.kill('SIGINT');
    const code = await new Promise((resolve) => child.on('exit', resolve));
    expect(code).toBe(0);
    expect(lines.map((line) => JSON.parse(line).type)).toContain('message_created');
  });
});

describe('token', () => {
  test('create, list, revoke', async () => {
    const token = (await run(['token', 'create', '--as', 'dora'])).trim();
    expect(token).toMatch(/^[\w-]{40,}$/);
    expect(await run(['token', 'list'])).toMatch(/dora +valid/);
    const { items } = (await json(['token', 'list'])) as { items: { id: string; as: string }[] };
    await run(['token', 'revoke', items.find((one) => one.as === 'dora')?.id as string]);
    expect(await run(['token', 'list'])).toMatch(/dora +revoked/);
    expect(await fails(['token', 'create'], 2)).toMatch(/--as/);
  });
});

describe('workspace', () => {
  test('create, link, inspect, unlink, list, delete', async () => {
    const site = join(directory, 'site');
    mkdirSync(join(site, 'src'), { recursive: true });
    expect(await run(['workspace', 'create', 'site', site, '--network', 'a.example, b.example'])).toBe(
      `Created workspace site at ${site}.\n`,
    );
    expect(await run(['workspace', 'link', 'site', '/usr/share', 'docs'])).toMatch(/^docs shows .*\nNot enforced:/);
    expect(await json(['workspace', 'inspect', 'site'])).toMatchObject({
      name: 'site',
      owner: 'user',
      network: ['a.example', 'b.example'],
      links: [{ target: 'docs', source: '/usr/share', mode: 'ro', inForce: false }],
    });
    expect(await run(['workspace', 'inspect', 'site'])).toMatch(/network +a.example, b.example(.*\n)+docs +ro +\/usr/);
    await run(['workspace', 'create', 'code', '--view-of', 'site', '--subdir', 'src']);
    expect(await run(['workspace', 'list'])).toMatch(/^NAME .*\n(.*\n)*code +user +ro .*src\n/);
    expect(await json(['agent', 'create', 'coder', '--provider', 'external', '--workspace', 'code'])).toMatchObject({
      workspace: join(site, 'src'),
    });
    expect(await fails(['workspace', 'delete', 'code'], 1)).toMatch(/coder works in it/);
    await run(['agent', 'terminate', 'coder']);
    expect(await json(['workspace', 'delete', 'code'])).toMatchObject({ status: 'deleted' });
    expect(await json(['workspace', 'unlink', 'site', 'docs'])).toEqual({ status: 'unlinked' });
    expect(await run(['workspace', 'delete', 'site'])).toBe('Deleted site.\n');
    expect(existsSync(join(site, 'src'))).toBe(true);
    expect(await fails(['workspace', 'create', 'x', '--subdir', 'y'], 2)).toMatch(/--view-of/);
    expect(await fails(['workspace', 'link', 'nothing', '/usr', 'x'], 1)).toMatch(/There is no workspace "nothing"/);
    expect(await fails(['workspace', 'create', 'x', home], 1)).toMatch(/contains the home of Substrat/);
    expect(await fails(['agent', 'create', 'y', '--provider', 'external', '--workspace', 'y'], 1)).toMatch(
      /There is no workspace "y"/,
    );
  });

  test('agent create --worktree', async () => {
    const repository = join(directory, 'repository');
    execFileSync('git', ['init', '--quiet', repository]);
    const author = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    execFileSync('git', [...author, 'commit', '--quiet', '--allow-empty', '-m', 'x'], { cwd: repository });
    const made = await json([
      ...['agent', 'create', 'mason', '--provider', 'external'],
      ...['--workspace', repository, '--worktree'],
    ]);
    const branch = execFileSync('git', ['branch', '--show-current'], {
      cwd: made.workspace as string,
      encoding: 'utf8',
    });
    expect(branch).toBe('substrat/mason\n');
    expect(await run(['workspace', 'inspect', 'mason'])).toMatch(/worktree of +.*repository\/\.git/);
  });
});

describe('doctor', () => {
  test('checks everything and explains how to fix problems', async () => {
    const { findings } = (await json(['doctor'])) as {
      findings: { what: string; state: string; detail: string; mend?: string }[];
    };
    const names = findings.map(({ what }) => what);
    const always = [
      'Node',
      'configuration',
      'home',
      'sockets',
      'daemon',
      'store',
      'sandbox',
      'limits',
      'disk',
      'clock',
    ];
    expect(names.filter((name) => always.includes(name))).toEqual(always);
    // Which ones are installed depends on the machine.
    const others = findings.find(({ what }) => what === 'agent programs')?.detail ?? '';
    for (const name of ['claude', 'codex', 'cursor-agent', 'opencode', 'gemini', 'copilot', 'qwen', 'pi'])
      expect([name, names.includes(name)]).toEqual([name, !others.split(/[ ,]+/).includes(name)]);
    expect(findings.filter(({ state, mend }) => state !== 'ok' && !mend)).toEqual([]);
    const program = join(root, 'test/fixtures/cursor-agent');
    writeFileSync(join(directory, 'cursor.toml'), `[providers.cursor-agent]\ncommand = ${JSON.stringify(program)}\n`);
    const found = await runSubstrat(['doctor', '--config', join(directory, 'cursor.toml')], { home });
    expect(found.stdout).toContain(`${program}, version 2026.02.13-41ac335`);
    writeFileSync(join(directory, 'bad.toml'), '[daemon]\nslot = 1\n');
    const sick = await runSubstrat(['doctor', '--config', join(directory, 'bad.toml')], { home });
    expect(sick.code).toBe(1);
    expect(sick.stdout).toContain('did you mean "slots"');
  });
});

describe('the docs', () => {
  test('docs/cli.md matches the commands', async () => {
    const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
    expect(page).toBe(describeCommands(await createProgram('0.0.0')));
  });

  test('docs/ctx.md matches the commands', async () => {
    const page = readFileSync(join(root, 'docs/ctx.md'), 'utf8');
    expect(page).toBe(describeCommands(await createCtx('0.0.0')));
  });

  test('completions are valid scripts for their shells', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) expect(await run(['completions', shell])).toContain('complete --');
  });

  test('the client example runs', () => {
    const node = process.execPath;
    const answer = execFileSync(node, ['examples/client.ts', home, join(directory, 'echo.ts')], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(answer).toBe('echo: How many words is this?\n');
  });
});
