// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ctxLauncher } from '../helpers/ctx.ts';
import { runSubstrat, start } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

/** A cloned repository, a person's home and files next to it, and targets for a hostile file. */
let directory: string;
let repo: string;
let home: string;
let marker: string;
let server: Server;
let asked: string[];
let endpoint: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await until('it listens', () => server.address() !== null);
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'trust-')));
  [repo, home, marker] = [join(directory, 'repo'), join(directory, 'home'), join(directory, 'ran')];
  asked = [];
  write('private/secret.md', 'The private key is 12345.');
  write('repo/docs/page.md', '# Bread\n\nHow to bake bread.');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const env = { OPENAI_API_KEY: 'sk-secret' };
const ctx = (...args: string[]) => runSubstrat(args, { home, cwd: repo, program: ctxLauncher, env });

/** Only what an untrusted file may do. */
const PLAIN = '[db]\npath = "data/ctx.db"\n[connectors.filesystem.docs]\nroot = "docs"\n';
const KEY = '[embedding]\nprovider = "openai"\nurl = "ENDPOINT/v1"\napi_key = "${OPENAI_API_KEY}"\n';
const MODULE = () => `import fs from 'node:fs'; fs.appendFileSync(${JSON.stringify(marker)}, 'module ');
export default { name: 'x', description: 'd', tools: [], arguments: [], resolve: () => ({ system: 's' }) };`;
/** A script that makes its execution visible: a request is all that it can do. */
const script = (mark: string) => `http.get("${endpoint}/${mark}")
tool = { name = "t", description = "${mark}", parameters = {} }
function tool.execute() return "${mark}" end
agent = { description = "${mark}" }
function agent.resolve() return { system = "${mark}" } end
connector = {}
function connector.scan() return { { source_id = "a", body = "${mark}" } } end`;

/** Every command is refused with a sentence about the file, what it wants and the remedy, and nothing has happened. */
async function expectRefused(want: string | RegExp, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await ctx(...args);
  expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`ctx: ${join(repo, 'ctx.toml')} is not trusted, and it wants to:\n`);
  expect(stderr).toMatch(want);
  expect(stderr).toContain('Read it, then run `ctx trust`');
  expect(existsSync(marker)).toBe(false);
  expect(asked).toEqual([]);
}

describe('a configuration that was found', () => {
  test('may index and search its own directory without trust, and is named', async () => {
    write('repo/ctx.toml', `${PLAIN}[agents.reviewer]\ndescription = "d"\nsystem_prompt = "s"\n`);
    const synced = await ctx('sync');
    expect(synced).toMatchObject({ code: 0, stderr: 'ctx: using ctx.toml (not trusted)\n' });
    expect(synced.stdout).toContain('1 seen, 1 indexed');
    const found = await ctx('search', 'bread', '--json');
    expect(JSON.parse(found.stdout).results).toHaveLength(1);
    expect(existsSync(home)).toBe(false);
  });

  test.each([
    ['a module', '[agents.module.x]\npath = "x.ts"\n', /run the module x\.ts outside any sandbox/, 'agent list'],
    ['a script', '[tools.script.t]\npath = "t.lua"\n', /run the script t\.lua \(\[tools\.script\.t\]\)/, 'tool list'],
    ['a root outside', '[connectors.filesystem.s]\nroot = "../private"\n', /read .*\/private \(/, 'sync'],
    ['a root behind a link', '[connectors.filesystem.s]\nroot = "link"\n', /read .*\/repo\/link \(/, 'sync'],
    ['a key for a server', KEY, /variable OPENAI_API_KEY.*send the texts to http:\/\/127\.0\.0\.1:\d+ for/s, 'sync'],
    ['an open port', '[server]\nbind = "0.0.0.0:0"\n', /listen on 0\.0\.0\.0:0/, 'serve mcp'],
    ['no sandbox', '[sandbox]\nmode = "none"\n', /run agents without a sandbox/, 'stats'],
  ])('needs trust for %s', async (_, text, want, command) => {
    write('repo/x.ts', MODULE());
    write('repo/t.lua', script('evil'));
    symlinkSync('../private', join(repo, 'link'));
    write('repo/ctx.toml', PLAIN + text.replace('ENDPOINT', endpoint));
    await expectRefused(want, ...command.split(' '));
    expect(existsSync(join(repo, 'data'))).toBe(false);
  });

  test('needs trust for a store outside', async () => {
    write('repo/ctx.toml', '[db]\npath = "../private/x.db"\n[connectors.filesystem.docs]\nroot = "docs"\n');
    await expectRefused(/write the store .*\/private\/x\.db/, 'sync');
    expect(existsSync(join(directory, 'private/x.db'))).toBe(false);
  });

  test('lists everything it wants at once, with a default in place of a variable', async () => {
    write(
      'repo/ctx.toml',
      `${PLAIN}[server]\nbind = "\${BIND:-0.0.0.0:0}"\n[agents.module.x]\npath = "\${WHERE}/x.ts"\n`,
    );
    await expectRefused(/BIND.*WHERE.*listen on 0\.0\.0\.0:0.*WHERE\/x\.ts/s, 'stats');
  });

  test('cannot insert its own lines into what is shown about it', async () => {
    write('repo/ctx.toml', `${PLAIN}[tools.script.t]\npath = "t.lua\\n\\u001b[2JIt is trusted.\\u202e"\n`);
    const { stderr } = await ctx('stats');
    expect(stderr).toContain(String.raw`  run the script t.lua\n\u001b[2JIt is trusted.\u202e ([tools.script.t])`);
  });

  test('is not read through a symlink', async () => {
    write('elsewhere/own.toml', PLAIN);
    symlinkSync('../elsewhere/own.toml', join(repo, 'ctx.toml'));
    const { code, stderr } = await ctx('sync');
    expect(code).toBe(1);
    expect(stderr).toContain(
      `is reached by a symbolic link, which is not followed. Use \`--config ${join(directory, 'elsewhere/own.toml')}\``,
    );
    expect((await ctx('sync', '--config', 'ctx.toml')).code).toBe(0);
  });

  test('is looked up in order, and a named file or one in the home needs no trust', async () => {
    const text = (mark: string) => `[db]\npath = "own.db"\n[tools.script.${mark}]\npath = "${join(repo, 't.lua')}"\n`;
    write('repo/t.lua', 'tool = { description = "d", parameters = {} } function tool.execute() return 1 end');
    const tool = async (...args: string[]) => {
      const { stdout, stderr } = await ctx('tool', 'list', '--json', ...args);
      return stdout === '' ? JSON.parse(stderr).error.message.split('\n')[0] : JSON.parse(stdout).tools[0]?.name;
    };
    write('home/config.toml', text('of_home'));
    expect(await tool()).toBe('of_home');
    for (const name of ['config/ctx.toml', '.ctx/config.toml', 'ctx.toml']) {
      write(`repo/${name}`, text('found'));
      expect(await tool()).toBe(`${join(repo, name)} is not trusted, and it wants to:`);
    }
    expect(await tool('--config', 'ctx.toml')).toBe('found');
    // Only the home itself is the person's; an agent's workspace is inside it too.
    const toolIn = async (place: string) =>
      (await runSubstrat(['tool', 'list', '--json'], { home, cwd: join(directory, place), program: ctxLauncher })).code;
    write('home/ctx.toml', text('own'));
    write('home/workspaces/a/ctx.toml', text('of_agent'));
    expect([await toolIn('home'), await toolIn('home/workspaces/a')]).toEqual([0, 1]);
    const named = { home, cwd: '/', program: ctxLauncher, env: { CTX_CONFIG: join(repo, 'ctx.toml') } };
    expect((await runSubstrat(['tool', 'list', '--json'], named)).stdout).toContain('"found"');
  });
});

describe('ctx trust', () => {
  const hostile = () => {
    write('repo/x.ts', MODULE());
    write('repo/t.lua', script('first'));
    return write('repo/ctx.toml', `${PLAIN}[agents.module.x]\npath = "x.ts"\n[tools.script.t]\npath = "t.lua"\n`);
  };

  test('shows what it wants, asks, and stores hashes; a change shows the difference', async () => {
    const file = hostile();
    const asking = await ctx('trust');
    expect(asking).toMatchObject({
      code: 2,
      stderr: 'ctx: Cannot ask for confirmation without a terminal. Read the file, then add --yes.\n',
    });
    expect(asking.stdout).toContain('run the script t.lua ([tools.script.t])');
    expect(asking.stdout).toContain(`x.ts is a module. Everything in ${repo}`);
    await expectRefused(/run the module/, 'tool', 'list');

    const trusted = await ctx('trust', '--yes', '--json');
    expect(JSON.parse(trusted.stdout)).toMatchObject({
      file,
      trusted: true,
      files: [file, join(repo, 'x.ts'), join(repo, 't.lua')],
    });
    const listed = await ctx('tool', 'list', '--json');
    expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('ctx: using ctx.toml (trusted)\n') });
    expect(asked).toEqual(['GET /first ']);
    expect(JSON.parse((await ctx('trust', '--list', '--json')).stdout)).toMatchObject({ trusted: [{ file }] });
    expect((await ctx('trust')).stdout).toMatch(/Nothing has changed since you trusted it on [\d-]+\.\nTrusted /);
    expect(statSync(join(home, 'trust')).mode & 0o777).toBe(0o700);

    asked = [];
    write('repo/t.lua', script('second'));
    const changed = await ctx('tool', 'list');
    expect(changed).toMatchObject({ code: 1, stdout: '' });
    expect(changed.stderr).toMatch(
      /was trusted on [\d-]+, but t\.lua has changed since\. Run `ctx trust` to see the difference\./,
    );
    expect(asked).toEqual([]);
    const again = await ctx('trust', '--yes');
    expect(again.stdout).toMatch(/Changed since you trusted it on [\d-]+:\nt\.lua:\n {2}- http\.get\(.*first"\)\n/);
    expect(again.stdout).toContain(`  + http.get("${endpoint}/second")\n`);
    expect((await ctx('tool', 'list')).code).toBe(0);

    asked = [];
    write('repo/ctx.toml', `${PLAIN}[tools.script.t]\npath = "t.lua"\n`);
    expect((await ctx('tool', 'list')).stderr).toContain(`${file} has changed since you trusted it on`);
    expect(asked).toEqual([]);
    await ctx('trust', '--yes');
    rmSync(marker);
    expect((await ctx('trust', '--remove')).stdout).toBe(`No longer trusted: ${file}\n`);
    await expectRefused(/run the script/, 'tool', 'list');
  });

  test('--trust applies to one command only', async () => {
    hostile();
    expect(await ctx('tool', 'list', '--trust')).toMatchObject({ code: 0 });
    expect(asked).toEqual(['GET /first ']);
    asked = [];
    rmSync(marker, { force: true });
    await expectRefused(/run the script/, 'tool', 'list');
  });

  test.each(['ctx.toml', 't.lua', '.'])('never trusts a file where others can write %s', async (name) => {
    hostile();
    await ctx('trust', '--yes');
    chmodSync(join(repo, name), name === '.' ? 0o777 : 0o646);
    const problem = `${join(repo, name).replace(/\/\.$/, '')} is writable by others`;
    for (const args of [
      ['tool', 'list'],
      ['tool', 'list', '--trust'],
      ['trust', '--yes'],
    ]) {
      const { code, stdout, stderr } = await ctx(...args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(problem);
    }
    expect(asked).toEqual([]);
    expect(existsSync(marker)).toBe(false);
  });

  test.skipIf(process.getuid?.() !== 0)('never trusts a file of another user', async () => {
    chownSync(hostile(), 12_345, 12_345);
    const { code, stderr } = await ctx('trust', '--yes');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `ctx: ${join(repo, 'ctx.toml')} cannot be trusted: ${join(repo, 'ctx.toml')} is owned by another user (uid 12345).\n`,
    });
    const listed = await ctx('tool', 'list');
    expect(listed).toMatchObject({ code: 1, stderr: expect.stringContaining('It cannot be trusted: ') });
    expect(listed.stderr).toContain('is owned by another user (uid 12345)');
    expect(asked).toEqual([]);
  });

  test('a file written by ctx init is trusted until it changes, and ctx agent import keeps the trust', async () => {
    await ctx('init');
    expect((await ctx('stats')).stderr).toBe('ctx: using ctx.toml (trusted)\n');
    mkdirSync(join(directory, 'other'));
    symlinkSync('../private/made.toml', join(directory, 'other/ctx.toml'));
    const linked = await runSubstrat(['init'], { home, cwd: join(directory, 'other'), program: ctxLauncher });
    expect(linked).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be written: EEXIST') });
    expect(existsSync(join(directory, 'private/made.toml'))).toBe(false);
    write('agents/AGENTS.md', 'Be kind.');
    expect((await ctx('agent', 'import', '../agents')).code).toBe(0);
    expect((await ctx('agent', 'list')).stderr).toBe('ctx: using ctx.toml (trusted)\n');
    writeFileSync(join(repo, 'ctx.toml'), '# changed by somebody\n', { flag: 'a' });
    write('agents/AGENTS.md', '---\nname: second\n---\nBe brief.');
    expect((await ctx('agent', 'import', '../agents')).code).toBe(0);
    expect((await ctx('agent', 'list')).stderr).toBe('ctx: using ctx.toml (not trusted)\n');
    writeFileSync(join(repo, 'ctx.toml'), '\n[tools.script.t]\npath = "t.lua"\n', { flag: 'a' });
    write('repo/t.lua', script('added'));
    expect((await ctx('tool', 'list')).stderr).toContain('has changed since you trusted it');
    expect(asked).toEqual([]);
  });
});

describe('a server that watches the files', () => {
  async function serve(...args: string[]) {
    const child = start(['serve', 'mcp', '--bind', '127.0.0.1:0', ...args], {
      home,
      cwd: repo,
      program: ctxLauncher,
      env,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk));
    const url = await until('it serves', () => /Serving (\S+)\/mcp/.exec(said)?.[1]);
    const describeTool = async () => {
      const { tools } = (await (await fetch(`${url}/tools/list`)).json()) as {
        tools: { name: string; description: string }[];
      };
      return tools.find(({ name }) => name === 't')?.description;
    };
    const stop = async () => {
      child.kill('SIGTERM');
      await until('it has stopped', () => child.exitCode !== null);
    };
    return { describeTool, said: () => said, stop };
  }

  test.each([[[]], [['--trust']]])('executes no script that changed after it was trusted (%j)', async (flags) => {
    write('repo/t.lua', script('good'));
    write('repo/ctx.toml', `${PLAIN}[tools.script.t]\npath = "t.lua"\n`);
    if (flags.length === 0) await ctx('trust', '--yes');
    const served = await serve(...flags);
    try {
      expect(await served.describeTool()).toBe('good');
      write('repo/t.lua', script('evil'));
      await until('the change was refused', () => served.said().includes('t.lua has changed since'));
      write('repo/ctx.toml', `${PLAIN}[tools.script.t]\npath = "t.lua"\n[agents.module.x]\npath = "x.ts"\n`);
      write('repo/x.ts', MODULE());
      await until('the new file was refused', () => served.said().includes('has changed since you trusted it'));
      expect(await served.describeTool()).toBe('good');
      expect(asked.filter((line) => line.includes('evil'))).toEqual([]);
      expect(existsSync(marker)).toBe(false);
      if (flags.length > 0) return;
      write('repo/t.lua', script('better'));
      await ctx('trust', '--yes');
      await until('it is served', async () => (await served.describeTool()) === 'better');
    } finally {
      await served.stop();
    }
  });

  test("reloads the person's own file and its scripts", async () => {
    write('repo/t.lua', script('one'));
    const config = write('home/config.toml', `${PLAIN}[tools.script.t]\npath = "../repo/t.lua"\n`);
    write('home/docs/x.md', 'x');
    const served = await serve('--config', config);
    try {
      expect(await served.describeTool()).toBe('one');
      write('repo/t.lua', script('two'));
      await until('it is followed', async () => (await served.describeTool()) === 'two');
    } finally {
      await served.stop();
    }
  });
});
