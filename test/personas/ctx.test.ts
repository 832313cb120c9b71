// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';

const CTX = join(import.meta.dirname, '../../bin/ctx');
const SUBSTRAT = join(import.meta.dirname, '../../bin/substrat');
const SCRIPT = join(import.meta.dirname, '../../examples/knowledge/agents/incident-responder.lua');

let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'substrat-ctx-'));
  for (const n of [1, 2, 3]) write(`runbooks/${n}.md`, `# Runbook ${n}\n\nAn incident of payments-api, step ${n}.\n`);
  write(
    'ctx.toml',
    `[db]
path = "data/ctx.sqlite"
[connectors.filesystem.runbooks]
root = "runbooks"
[connectors.script.wiki]
path = "connectors/wiki.lua"
[tools.script.create_jira_ticket]
path = "tools/create_jira_ticket.lua"
[agents.code-reviewer]
description = "Reviews code changes against project conventions"
tools = ["search", "get"]
system_prompt = "You review."
[agents.architect]
description = "Answers architecture questions using indexed docs"
tools = ["search", "get", "sources"]
system_prompt = "You design."
[agents.script.incident-responder]
path = "agents/incident-responder.lua"
`,
  );
  mkdirSync(join(cwd, 'agents'));
  copyFileSync(SCRIPT, join(cwd, 'agents/incident-responder.lua'));
  expect((await ctx('tool', 'init', 'create_jira_ticket')).stdout).toBe(
    'Created: tools/create_jira_ticket.lua\nAdd to config:\n\n  [tools.script.create_jira_ticket]\n  path = "tools/create_jira_ticket.lua"\n  timeout = 30\n',
  );
  expect((await ctx('connector', 'init', 'wiki')).stdout).toContain('  [connectors.script.wiki]\n');
  expect(await ctx('sync')).toMatchObject({ code: 0 });
});
afterAll(() => rmSync(cwd, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}

const ctx = (...args: string[]) => call(CTX, args);
const substrat = (...args: string[]) => call(SUBSTRAT, args);

function call(program: string, args: string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    SUBSTRAT_HOME: join(cwd, 'home'),
    CTX_CONFIG: join(cwd, 'ctx.toml'),
  };
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd, env }, (_, stdout, stderr) =>
      resolve({ stdout, stderr, code: child.exitCode ?? 1 }),
    );
  });
}

describe('ctx agent', () => {
  test('list prints names, descriptions, tools and types', async () => {
    expect(await ctx('agent', 'list')).toEqual({
      stdout: `  code-reviewer        Reviews code changes against project conventions           (tools: search, get)
  architect            Answers architecture questions using indexed docs          (tools: search, get, sources)
  incident-responder   Helps triage production incidents with relevant runbooks   (tools: search, get, create_jira_ticket)  [lua]
`,
      stderr: '',
      code: 0,
    });
    const { agents } = JSON.parse((await ctx('agent', 'list', '--json')).stdout);
    expect(agents[2]).toMatchObject({ name: 'incident-responder', source: 'lua' });
  });

  test('test renders a prompt and prints it', async () => {
    const args = ['incident-responder', '--arg', 'service=payments-api', '--arg', 'severity=P1'];
    const { stdout, code } = await ctx('agent', 'test', ...args);
    expect(code).toBe(0);
    const [head, tail] = stdout.split(/ {2}You are an incident responder[\s\S]*recommend actions\.\n/);
    expect(head).toMatch(
      /^\nAgent: incident-responder\nSource: lua \(agents\/incident-responder\.lua\)\nTools: search, get, create_jira_ticket\n\nSystem prompt \(\d+ chars\):\n$/,
    );
    expect(tail).toMatch(
      /^\nMessages \(1\):\n {2}\[assistant\] I'm ready to help with the P1 payments-api incident\. I've loaded 3 relevant runbooks\. What's the current situation\?\n\nResolved in \d+ms \(1 search query, 3 document fetches\)\n$/,
    );
    const { result, usage } = JSON.parse((await ctx('agent', 'test', ...args, '--json')).stdout);
    expect(result.messages).toHaveLength(1);
    expect(usage).toMatchObject({ searches: 1, documents: 3 });
  });

  test('test reports what is wrong', async () => {
    expect(await ctx('agent', 'test', 'nobody')).toMatchObject({
      stderr: 'ctx: There is no agent "nobody".\n',
      code: 1,
    });
    expect(await ctx('agent', 'test', 'incident-responer')).toMatchObject({
      stderr: 'ctx: There is no agent "incident-responer"; did you mean "incident-responder"?\n',
      code: 1,
    });
    expect(await ctx('agent', 'test', 'architect', '--arg', 'x')).toMatchObject({ code: 2 });
  });

  test('init writes a working script, once', async () => {
    expect(await ctx('agent', 'init', 'sre-helper')).toEqual({
      stdout: `Created: agents/sre-helper.lua
Add to config:

  [agents.script.sre-helper]
  path = "agents/sre-helper.lua"
  timeout = 30
`,
      stderr: '',
      code: 0,
    });
    expect(await ctx('agent', 'init', 'sre-helper')).toMatchObject({ code: 1, stdout: '' });
    expect(await ctx('agent', 'init', '../x')).toMatchObject({ code: 1, stdout: '' });
    write(
      'other.toml',
      `${readFileSync(join(cwd, 'ctx.toml'), 'utf8')}[agents.sre-helper]\npath = "agents/sre-helper.lua"\n`,
    );
    const { stdout } = await ctx('agent', 'test', 'sre-helper', '--arg', 'topic=incident', '--config', 'other.toml');
    expect(stdout).toContain('[assistant] I have read 3 documents. What do you need?');
  });

  test("import converts other programs' files to personas", async () => {
    const text = 'Look at ${HOME}, \\n and """quotes""".\r\n\n- all of it';
    write(
      'other/.claude/agents/reviewer.md',
      `---\nname: reviewer\ndescription: Reviews "it"\ntools: Read, mcp__substrat__search\n---\n\n${text}\n`,
    );
    write('other/.claude/agents/broken.md', '---\n: [\n---\nx');
    write('other/AGENTS.md', 'Be kind.');
    write('other/skills/pdf/SKILL.md', '---\nname: pdf\ndescription: >\n  Reads\n  PDFs\n---\nRead.\n');
    write('import.toml', '');
    const { stdout } = await ctx('agent', 'import', 'other', '--config', 'import.toml');
    expect(stdout).toContain('Added: [agents.inline.other] to import.toml');
    expect(stdout).toContain('broken.md (its front matter is not valid YAML)');
    const { agents } = loadConfig({ file: 'import.toml', cwd, home: cwd, env: {} });
    const all = ['search', 'get', 'sources'];
    expect(agents).toMatchObject([
      { name: 'other', tools: all, system: 'Be kind.\n' },
      { name: 'reviewer', description: 'Reviews "it"', tools: ['search'], system: `${text.replace('\r', '')}\n` },
      { name: 'pdf', description: 'Reads PDFs', tools: all, system: 'Read.\n' },
    ]);
    const again = JSON.parse((await ctx('agent', 'import', 'other', '--config', 'import.toml', '--json')).stdout);
    expect(again).toMatchObject({ added: [] });
    expect(await ctx('agent', 'import', 'runbooks')).toMatchObject({ code: 1 });
  });
});

test('import reads nothing outside the directory, and ends, whatever is in it', async () => {
  write('secret.txt', 'SECRET key');
  write('hostile/.claude/agents/fine.md', 'Fine.');
  const agents = join(cwd, 'hostile/.claude/agents');
  symlinkSync(join(cwd, 'secret.txt'), join(agents, 'leak.md'));
  symlinkSync('../../../secret.txt', join(agents, 'relative.md'));
  symlinkSync('/dev/zero', join(agents, 'endless.md'));
  symlinkSync('fine.md', join(agents, 'alias.md'));
  symlinkSync('nowhere', join(agents, 'broken.md'));
  execFileSync('mkfifo', [join(agents, 'pipe.md')]);
  mkdirSync(join(agents, 'directory.md'));
  // Each of them leads to all of them.
  symlinkSync('.', join(cwd, 'hostile/skills'));
  symlinkSync('..', join(cwd, 'hostile/.claude/skills'));
  write('hostile/.claude/agents/deep.md', `---\nx: ${'['.repeat(100_000)}\n---\nx`);
  write('hostile/.claude/agents/bomb.md', `---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\nx`);
  write('hostile/.claude/agents/name.md', `---\nname: "../../\\e[2J${'x'.repeat(500)}"\n---\nx`);
  write('hostile/.claude/agents/table.md', '---\nname: "x]\\n[sandbox]\\nmode = none"\n---\nx');
  write('hostile/.claude/agents/huge.md', 'x'.repeat(1024 * 1024 + 1));
  write('hostile.toml', '');
  const { stdout } = await ctx('agent', 'import', 'hostile', '--config', 'hostile.toml');
  const config = readFileSync(join(cwd, 'hostile.toml'), 'utf8');
  expect(config).not.toContain('SECRET');
  expect(config.match(/^\[.*\]$/gm)).toEqual(['[agents.inline.alias]', '[agents.inline.fine]']);
  const skipped = stdout.split('\n').filter((line) => line.startsWith('Skipped'));
  const reasonOf = (name: string) => /\((.*)\)$/.exec(skipped.find((line) => line.includes(`/${name}.md`)) ?? '')?.[1];
  expect(
    Object.fromEntries(
      ['leak', 'relative', 'endless', 'broken', 'pipe', 'directory'].map((name) => [name, reasonOf(name)]),
    ),
  ).toEqual({
    leak: `it is a symbolic link that points outside ${join(cwd, 'hostile')}`,
    relative: `it is a symbolic link that points outside ${join(cwd, 'hostile')}`,
    endless: 'it is not a regular file',
    broken: 'it does not exist',
    pipe: 'it is not a regular file',
    directory: 'it is not a regular file',
  });
  expect(reasonOf('huge')).toMatch(/^it has more than /);
  expect(reasonOf('deep')).toBe('its front matter is not valid YAML');
  expect(reasonOf('bomb')).toBe('its front matter is not valid YAML');
  expect(reasonOf('name')).toMatch(/^"\.\.\/\.\.\/\\u001b\[2Jx{60,90}…" is not a valid name$/);
  expect(reasonOf('table')).toContain('is not a valid name');
});

describe('substrat persona', () => {
  test('is the same as ctx agent', async () => {
    // It reads what the daemon would read, and nothing in the current directory.
    expect((await substrat('persona', 'list')).stdout).toMatch(/^No agents/);
    const named = ['--config', 'ctx.toml'];
    expect(await substrat('persona', 'list', ...named)).toEqual(await ctx('agent', 'list', ...named));
    const args = ['test', 'incident-responder', '--arg', 'service=payments-api', '--json', ...named];
    const [one, other] = [await substrat('persona', ...args), await ctx('agent', ...args)];
    expect(JSON.parse(one.stdout).result).toEqual(JSON.parse(other.stdout).result);
    expect(await substrat('persona', 'test', 'nobody')).toMatchObject({
      stderr: 'substrat: There is no agent "nobody".\n',
      code: 1,
    });
    expect((await substrat('persona', 'init', 'other-helper')).stdout).toContain('Created: agents/other-helper.lua\n');
    write('single/AGENTS.md', 'Be kind.');
    write('persona.toml', '');
    const imported = await substrat('persona', 'import', 'single', '--config', 'persona.toml');
    expect(imported).toMatchObject({ stdout: 'Added: [agents.inline.single] to persona.toml\n', code: 0 });
    expect((await substrat('persona', 'list', '--help')).stdout).toContain('Example:\n  substrat persona list');
  });
});

describe('ctx tool and ctx connector', () => {
  test('list and test a tool', async () => {
    expect((await ctx('tool', 'list')).stdout).toMatch(
      /^NAME +PARAMETERS +DESCRIPTION\ncreate_jira_ticket +text +What/,
    );
    const { stdout } = await ctx('tool', 'test', 'create_jira_ticket', '--param', 'text=incident', '--json');
    expect(JSON.parse(stdout)).toEqual({ result: { text: 'incident', documents: 3 } });
    expect(await ctx('tool', 'test', 'create_jira_ticket')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('create_jira_ticket: text'),
    });
  });

  test('test a connector, and index its items', async () => {
    write('connectors/page.md', '# A page of the wiki');
    const { stdout } = await ctx('connector', 'test', 'wiki');
    expect(stdout).toMatch(
      /^SOURCE_ID +TITLE +TYPE +CHARS\npage\.md +text\/markdown +20\nScanned in \d+ms \(1 item, 0 problems\)\n$/,
    );
    expect(await ctx('connector', 'test', 'nothing')).toMatchObject({ code: 1 });
    expect(await ctx('sync')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('script:wiki: 1 seen, 1 indexed'),
    });
    expect((await ctx('search', 'wiki')).stdout).toContain('A page of the wiki');
  });
});
