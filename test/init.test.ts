// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** A person with a project and, because a real one needs a login, a stand-in for an agent program. */
function createPlace(config: string, files: Readonly<Record<string, string>> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'init-'));
  const [home, project, bin] = ['home', 'site', 'bin'].map((name) => join(directory, name)) as [string, string, string];
  for (const path of [join(home, '.substrat'), project, bin]) mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of ['substrat', 'ctx']) symlinkSync(join(ROOT, 'bin', name), join(bin, name));
  const settings = join(home, '.substrat/config.toml');
  writeFileSync(settings, `[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n${config}`);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), content);
  }
  const run = async (command: string) => {
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home };
    const child = spawn('bash', ['-c', command], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  };
  onTestFinished(async () => {
    await run('substrat daemon stop');
    rmSync(directory, { recursive: true, force: true });
  });
  return { home: join(home, '.substrat'), project, settings, run };
}

const CLAUDE = `[providers.claude]\ncommand = "${join(ROOT, 'test/fixtures/claude.mjs')}"\nenv = { STAND_IN_SCENARIO = "answer", ANTHROPIC_API_KEY = "k" }\n`;

test('after the installation, two commands give a working team in a repository', { timeout: 60_000 }, async () => {
  const { home, project, settings, run } = createPlace(CLAUDE, {
    'AGENTS.md': 'Use tabs.',
    '.claude/agents/sql.md':
      '---\nname: sql\ndescription: Knows the database\ntools: Bash\n---\nYou know "SQL" and ${PATH}.',
    '.claude/agents/lead.md': '---\nname: lead\ndescription: Another lead\n---\nLead.',
    '.claude/skills/deploy/SKILL.md': '---\nname: deploy\ndescription: How to deploy\n---\nRun it.',
    '.claude/settings.json': '{"hooks": {"Stop": [{"command": "touch /tmp/hooked"}]}}',
    '.mcp.json': '{"mcpServers": {"evil": {"command": "evil-server"}}}',
  });
  const started = await run('substrat init --yes');
  expect(started).toMatchObject({ code: 0, stderr: '' });
  const answered = await run('substrat agent send lead "What is this?" --wait');
  expect(answered.code).toBe(0);
  // What the agent does meanwhile is shown if the command follows it in time.
  expect(['', 'Thinking.\n']).toContain(answered.stderr);
  expect(answered.stdout.trim()).not.toBe('');

  expect(started.stdout).toContain('Found the agent sql: Knows the database');
  const file = join(home, 'teams/site.toml');
  const team = readFileSync(file, 'utf8');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(team).toContain('[members.site-lead]\nparent = "lead"');
  expect(team).toContain(`workspace = "${project}"`);
  expect(team).not.toMatch(/hook|evil|command|Bash/i);
  expect(readFileSync(settings, 'utf8')).toMatch(/^include = \["teams\/\*\.toml"\]\n\n\[server\]/);
  const { stdout } = await run('substrat agent list --json');
  const agents = JSON.parse(stdout).items as { name: string; provider: string; handle: string }[];
  expect(agents.map(({ name, provider }) => `${name} ${provider}`).sort()).toEqual([
    'bug-reviewer claude',
    'design-reviewer claude',
    'lead claude',
    'site-lead claude',
    'sql claude',
  ]);
  const profile = JSON.parse((await run('substrat agent inspect lead --json')).stdout) as { instructions: string };
  expect(profile.instructions).toContain('- sql: Knows the database');
  expect(profile.instructions).toContain('read AGENTS.md');
  expect(profile.instructions).toContain('- deploy: How to deploy (.claude/skills/deploy/SKILL.md)');
  const sql = JSON.parse((await run('substrat agent inspect sql --json')).stdout) as { instructions: string };
  expect(sql.instructions).toContain('You know "SQL" and ${PATH}.');

  // A second project gets other names, and the first team stays.
  const again = await run('substrat init --yes --name second --template office --no-import');
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(await run('substrat init --yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('teams/site.toml'),
  });
  const pair = await run('substrat init --yes --name third --template review --no-import');
  expect(pair.stdout).toContain('third-lead (lead)');
  expect((await run('substrat channel list')).stdout).toContain('second');
});

test('the demo and the offers without an agent program', { timeout: 60_000 }, async () => {
  const nothing = createPlace('', {});
  // No program of this machine is found: only the directories that the launcher needs.
  const alone = `PATH=$HOME/../bin:${dirname(process.execPath)}:/usr/bin:/bin`;
  const started = await nothing.run(`${alone} substrat init --yes`);
  expect(started).toMatchObject({ code: 0, stderr: '' });
  expect(started.stdout).toContain('this team is the scripted demo');
  expect(started.stdout).toContain('substrat secret set ANTHROPIC_API_KEY');
  expect(started.stdout).toContain('ollama/qwen3');
  const answer = await nothing.run('substrat agent send lead "What is this machine?" --wait');
  expect(answer.stdout).toContain('GiB of memory');

  // The demo makes room for a real team; the lead keeps its handle and its messages.
  writeFileSync(join(nothing.project, 'AGENTS.md'), 'Use tabs.');
  const real = await nothing.run(`substrat init --yes --provider llm --model ollama/qwen3`);
  expect(real).toMatchObject({ code: 0, stderr: '' });
  const { stdout } = await nothing.run('substrat agent list --json');
  const agents = JSON.parse(stdout).items as { name: string; provider: string; handle: string }[];
  expect(
    agents
      .filter(({ provider }) => provider === 'llm')
      .map(({ handle }) => handle)
      .sort(),
  ).toEqual(['bug-reviewer', 'design-reviewer', 'lead']);
  expect((await nothing.run('substrat channel read dm-lead-user')).stdout).toContain('GiB of memory');
  expect(await nothing.run('substrat init --yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('exists'),
  });
});
