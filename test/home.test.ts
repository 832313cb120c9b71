import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase, describeOnPostgres } from './helpers/postgres.ts';
import { runSubstrat, start, startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const OWN = '[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n';

let directory: string;
let home: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'home-'));
  home = join(directory, 'home');
  write('home/config.toml', OWN);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const file = join(directory, path);
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(file, text);
  return file;
}

async function refusal(config: string, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await runSubstrat(['up', '--config', config, ...flags], { home });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}

describe('the configuration of a daemon', () => {
  const hostile = (name: string) => {
    const marker = join(directory, 'ran');
    write(
      `repo/${name}`,
      `[db]\npath = "theirs.db"\n[server]\nbind = "0.0.0.0:0"\n[sandbox]\nmode = "none"\n[members.evil]\nprogram = "evil.sh"\n[agents.module.x]\npath = "x.ts"\n`,
    );
    write(`repo/${name}/../x.ts`, `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(marker)}, '');`);
    return { cwd: join(directory, 'repo'), file: join(directory, 'repo', name), marker };
  };

  test('is never a file in the current directory, which is named with the command that uses it', async () => {
    const name = 'substrat.toml';
    const { cwd, file, marker } = hostile(name);
    const started = await runSubstrat(['daemon', 'start', '--json'], { home, cwd });
    expect(started.code).toBe(0);
    expect(started.stderr).toBe(
      `substrat: ${name} in this directory is not read; the daemon uses ${join(home, 'config.toml')}. To use it, run \`substrat daemon start --config ${file}\`.\n`,
    );
    const status = JSON.parse(started.stdout);
    expect(status).toMatchObject({
      home,
      config: join(home, 'config.toml'),
      store: join(home, 'substrat.db'),
      url: expect.stringContaining('127.0.0.1'),
    });
    expect(JSON.parse((await runSubstrat(['agent', 'list', '--json'], { home, cwd })).stdout)).toMatchObject({
      items: [],
    });
    expect((await runSubstrat(['persona', 'list'], { home, cwd })).stdout).toMatch(/^No agents/);
    expect((await runSubstrat(['daemon', 'stop'], { home, cwd })).code).toBe(0);
    expect(existsSync(marker)).toBe(false);
    expect(existsSync(join(cwd, 'theirs.db'))).toBe(false);
  });

  test.each(['ctx.toml', 'config/ctx.toml'])('is not %s either', async (name) => {
    const { cwd, file } = hostile(name);
    // That home cannot be created, so the command exits.
    const { stderr } = await runSubstrat(['up'], { home, cwd, env: { SUBSTRAT_HOME: '/proc/none' } });
    expect(stderr).toContain(`${name} in this directory is not read; the daemon uses the defaults.`);
    expect(stderr).toContain(`\`substrat up --config ${file}\``);
  });

  test('shows how to move a file into a home that has none, quoted for a shell', async () => {
    rmSync(join(home, 'config.toml'));
    const cwd = join(directory, "it's here");
    write("it's here/substrat.toml", OWN);
    // That home cannot be created, so the command exits.
    const { stderr } = await runSubstrat(['up'], { home, cwd, env: { SUBSTRAT_HOME: '/proc/none' } });
    const quoted = `'${cwd.replace("'", "'\\''")}/substrat.toml'`;
    expect(stderr).toContain(`the daemon uses the defaults. To use it, run \`substrat up --config ${quoted}\`.`);
    expect(stderr).toContain(`\`mv ${quoted} /proc/none/config.toml\``);
  });

  test('is shown with the store and the home by up, daemon status and doctor, from any directory', async () => {
    const config = write('other/own.toml', `${OWN}[db]\npath = "own.db"\n`);
    const store = join(directory, 'other/own.db');
    const child = start(['up', '--config', config], { home });
    let said = '';
    child.stdout?.on('data', (chunk) => {
      said += chunk;
    });
    try {
      const lines = [`Home: ${home}`, `Configuration: ${config}`, `Store: ${store}`];
      await until('it has said where it works', () => lines.every((line) => said.includes(`${line}\n`)));
      const { stdout } = await runSubstrat(['daemon', 'status'], { home, cwd: directory });
      for (const line of lines) expect(stdout).toContain(`${line}\n`);
      const doctor = await runSubstrat(['doctor', '--json'], { home, cwd: '/' });
      const findings = new Map(
        (JSON.parse(doctor.stdout).findings as { what: string; detail: string }[]).map((one) => [one.what, one.detail]),
      );
      expect(findings.get('configuration')).toBe(config);
      expect(findings.get('store')).toContain(`${store}, `);
      expect(findings.get('home')).toBe(home);
    } finally {
      child.kill('SIGTERM');
      await until('it has stopped', () => child.exitCode !== null);
    }
  });
});

test('--bind is used instead of the configuration, and is named when the port is taken', async () => {
  const started = await runSubstrat(['daemon', 'start', '--bind', '127.0.0.1:0', '--json'], { home, cwd: directory });
  const { url } = JSON.parse(started.stdout) as { url: string };
  const bind = new URL(url).host;
  const second = join(directory, 'second');
  const taken = await runSubstrat(['daemon', 'start', '--bind', bind], { home: second, cwd: directory });
  expect(taken).toMatchObject({ code: 1, stdout: '' });
  expect(taken.stderr).toContain(`Cannot listen on ${bind}: another Substrat daemon uses it.`);
  expect(taken.stderr).toContain('`--bind 127.0.0.1:0` picks a free one');
  expect(await runSubstrat(['apply', '--dry-run'], { home })).toMatchObject({
    code: 0,
    stdout: expect.not.stringContaining('server'),
  });
  await runSubstrat(['daemon', 'stop'], { home });
  const wrong = await runSubstrat(['up', '--bind', '7332'], { home });
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--bind takes an address such as 127.0.0.1:7331; got "7332"'),
  });
});

describe('a home records its store', () => {
  test('and refuses another one until it is told to switch', async () => {
    const first = await startDaemonProcess({ home, cwd: directory });
    await first.client.createAgent({ name: 'lead', provider: 'external' });
    await first.stop();
    const other = write('other/other.toml', `${OWN}[db]\npath = "other.db"\n`);
    const stderr = await refusal(other);
    expect(stderr).toContain(`keeps its agents in the store ${join(home, 'substrat.db')}`);
    expect(stderr).toContain(`${other} names another one, ${join(directory, 'other/other.db')}`);
    expect(stderr).toContain(`\`--config ${join(home, 'config.toml')}\``);
    expect(stderr).toContain('`--switch-store`');
    expect(existsSync(join(directory, 'other/other.db'))).toBe(false);
    const doctor = await runSubstrat(['doctor', '--json', '--config', other], { home });
    expect(JSON.parse(doctor.stdout).findings).toContainEqual({
      what: 'store',
      state: 'problem',
      detail: stderr.replace(/^substrat: |\n$/g, ''),
    });

    const switched = await runSubstrat(['daemon', 'start', '--switch-store', '--config', other, '--json'], { home });
    expect(JSON.parse(switched.stdout)).toMatchObject({ store: join(directory, 'other/other.db') });
    await runSubstrat(['agent', 'create', 'second', '--provider', 'external'], { home });
    await runSubstrat(['daemon', 'stop'], { home });
    expect(await refusal(join(home, 'config.toml'))).toContain(`\`--config ${other}\``);
    // It is the same store whatever path names it.
    const again = await startDaemonProcess({
      home,
      config: write('other/same.toml', `${OWN}[db]\npath = "../other/other.db"\n`),
    });
    expect((await again.client.listAgents()).items).toMatchObject([{ name: 'second' }]);
    await again.stop();
    // A missing store may be on a disk that is not mounted: its agents are not given up.
    rmSync(join(directory, 'other/other.db'));
    expect(await refusal(join(home, 'config.toml'))).toContain('`--switch-store`');
  });

  test('but not one that never had an agent', async () => {
    await (await startDaemonProcess({ home, cwd: directory })).stop();
    const config = write('other/other.toml', `${OWN}[db]\npath = "other.db"\n`);
    const daemon = await startDaemonProcess({ home, config });
    expect(await daemon.client.getStatus()).toMatchObject({ store: join(directory, 'other/other.db') });
    await daemon.stop();
  });

  test('and recognizes it after the home was moved', async () => {
    const first = await startDaemonProcess({ home, cwd: directory });
    await first.client.createAgent({ name: 'lead', provider: 'external' });
    await first.stop();
    const moved = join(directory, 'moved');
    renameSync(home, moved);
    const second = await startDaemonProcess({ home: moved, cwd: directory });
    expect((await second.client.listAgents()).items).toMatchObject([{ name: 'lead' }]);
    await second.stop();
  });
});

describeOnPostgres('a home remembers its store', () => {
  test('on PostgreSQL without its password, and never shows it', async () => {
    const [here, there] = [await createDatabase(), await createDatabase()];
    try {
      const url = new URL(here.url);
      url.password = 'hunter2';
      const config = write('pg.toml', `${OWN}[db]\nurl = "${url.href}"\n`);
      const daemon = await startDaemonProcess({ home, config });
      const { store } = await daemon.client.getStatus();
      await daemon.stop();
      expect(store).toContain(url.pathname);
      expect(readFileSync(join(home, 'store.json'), 'utf8') + store).not.toContain('hunter2');
      const stderr = await refusal(write('pg.toml', `${OWN}[db]\nurl = "${there.url}"\n`));
      expect(stderr).toContain(`in the store ${store}`);
      expect(stderr).toContain(new URL(there.url).pathname);
      expect(stderr).not.toContain('hunter2');
    } finally {
      await here.drop();
      await there.drop();
    }
  });
});
