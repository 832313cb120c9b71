import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noBwrap } from './helpers/bwrap.ts';
import { type HostileDaemon, startHostile } from './helpers/hostile.ts';
import { until } from './helpers/until.ts';

const quote = (value: unknown) => JSON.stringify(value);
const NOT_THERE = 'ENOENT';

describe.skipIf(noBwrap !== null)('from inside its turn, a hostile program cannot', () => {
  let daemon: HostileDaemon;
  let home: string;
  let other: { id: string; workspace: string };
  let attempt: HostileDaemon['attempt'];

  beforeAll(async () => {
    process.env.SUBSTRAT_TEST_SECRET = 'SECRET-OF-THE-DAEMON';
    daemon = await startHostile();
    home = daemon.running.home;
    attempt = daemon.attempt;
    other = await daemon.running.client.createAgent({ name: 'other', provider: 'external' });
    writeFileSync(join(other.workspace, 'secret'), 'secret');
    expect(existsSync(join(home, 'agents', other.id, 'agent.sock'))).toBe(true);
  });
  afterAll(async () => {
    delete process.env.SUBSTRAT_TEST_SECRET;
    await daemon?.running.stop();
  });

  test('reach the sockets of other agents', async () => {
    expect(await attempt(`return reach(${quote(join(home, 'agents', other.id, 'agent.sock'))})`)).toBe(NOT_THERE);
    expect(await attempt(`return fs.readdirSync(${quote(join(home, 'agents'))})`)).toEqual([daemon.agentId]);
  });

  test('reach daemon.sock', async () => {
    expect(await attempt(`return reach(${quote(join(home, 'daemon.sock'))})`)).toBe(NOT_THERE);
  });

  test("see Substrat's home, beyond its own part", async () => {
    expect(await attempt(`return fs.readdirSync(${quote(home)})`)).toEqual(['agents', 'workspaces']);
    const own = `fs.readdirSync(${quote(join(home, 'agents', daemon.agentId))})`;
    expect(await attempt(`return ${own}`)).toEqual(['agent.sock', 'home', 'mcp.json']);
    // A test's home is in /tmp, and files written there belong to the turn.
    for (const path of [home, join(home, 'agents', daemon.agentId)].map((directory) => join(directory, 'planted'))) {
      expect(await attempt(`fs.writeFileSync(${quote(path)}, '')`)).toBe(null);
      expect(existsSync(path)).toBe(false);
    }
    expect(await attempt('fs.writeFileSync(self.mcpConfig, "{}")')).toBe('EROFS');
  });

  test('see the home of the person', async () => {
    expect(await attempt(`return fs.readdirSync(${quote(homedir())})`)).not.toEqual(expect.arrayContaining(['.ssh']));
    expect(await attempt(`fs.writeFileSync(${quote(join(homedir(), 'planted'))}, '')`)).toMatch(/EROFS|ENOENT/);
    expect(await attempt('return [process.env.HOME, fs.readdirSync("/etc").includes("shadow")]')).toEqual([
      join(home, 'agents', daemon.agentId, 'home'),
      false,
    ]);
  });

  test('read or write the store', async () => {
    const store = quote(join(home, 'substrat.db'));
    expect(await attempt(`return fs.readFileSync(${store}, 'utf8')`)).toBe(NOT_THERE);
    await attempt(`fs.writeFileSync(${store}, 'no store')`);
    expect(readFileSync(join(home, 'substrat.db'), 'latin1')).toMatch(/^SQLite format 3/);
  });

  test('see other workspaces', async () => {
    expect(await attempt(`return fs.readFileSync(${quote(join(other.workspace, 'secret'))}, 'utf8')`)).toBe(NOT_THERE);
    expect(await attempt(`return fs.readdirSync(${quote(join(home, 'workspaces'))})`)).toEqual([daemon.agentId]);
  });

  test('see the parent of its workspace_subdir', async () => {
    await attempt(`
      fs.writeFileSync('secret', 'secret');
      await call('spawn_agent', { name: 'child', instructions: 'x', workspace_subdir: 'sub' });
    `);
    expect(await attempt('return process.cwd()', 'child')).toBe(join(daemon.workspace, 'sub'));
    expect(await attempt('return fs.readFileSync("../secret", "utf8")', 'child')).toBe(NOT_THERE);
    expect(await attempt('return fs.readdirSync("..")', 'child')).toEqual(['sub']);
    await attempt('fs.writeFileSync("../planted", "")', 'child');
    expect(existsSync(join(daemon.workspace, 'planted'))).toBe(false);
  });

  test('send signals to the daemon', async () => {
    expect(await attempt(`process.kill(${process.pid}, 0)`)).toBe('ESRCH');
    expect(await attempt('return process.ppid')).toBe(1);
    // To all processes: there are none.
    expect(await attempt(`process.kill(-1, 'SIGKILL')`)).toBe('ESRCH');
    expect(await daemon.running.client.getStatus()).toMatchObject({ pid: process.pid });
  });

  test('read the environment of the daemon', async () => {
    const found = await attempt(`
      const read = (pid) => { try { return fs.readFileSync('/proc/' + pid + '/environ', 'utf8') } catch { return '' } };
      const all = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map(read).join('');
      return [all.includes('SUBSTRAT_RUN_ID'), all.includes('SECRET-OF-THE-DAEMON'), Object.keys(process.env).sort()];
    `);
    expect(found).toEqual([true, false, expect.not.arrayContaining(['SUBSTRAT_TEST_SECRET', 'SUBSTRAT_HOME'])]);
  });

  test('see other processes in /proc', async () => {
    const names = (await attempt(`
      const own = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name));
      return own.map((pid) => { try { return fs.readFileSync('/proc/' + pid + '/comm', 'utf8').trim() } catch { return '' } });
    `)) as string[];
    expect(names.length).toBeLessThan(8);
    expect(names.filter((name) => !/^(bwrap|node.*|MainThread|)$/.test(name))).toEqual([]);
  });

  test('change the kernel’s settings through /proc', async () => {
    expect(await attempt(`fs.openSync('/proc/sys/kernel/core_pattern', 'r+')`)).toMatch(/EROFS|EACCES/);
    expect(await attempt(`fs.writeFileSync('/proc/sysrq-trigger', '')`)).toMatch(/EROFS|EACCES|ENOENT/);
    expect(await attempt(`return children.execSync('mount -o remount,rw /proc/sys 2>&1 || true').toString()`)).toMatch(
      /denied|not permitted|superuser/i,
    );
  });

  test('write to the memory of another process', async () => {
    const open = (path: string) => `fs.closeSync(fs.openSync('${path}', 'r+'))`;
    for (const path of ['/proc/1/mem', '/proc/self/mem']) expect(await attempt(open(path))).toBe('EROFS');
    const tool = `children.spawnSync('sh', ['-c', 'exec 9<>/proc/$PPID/mem'], { encoding: 'utf8' }).stderr`;
    expect(await attempt(`return ${tool}`)).toMatch(/Read-only file system/);
  });

  test('create its own user namespace', async () => {
    const said = `children.spawnSync('unshare', ['--user', 'true'], { encoding: 'utf8' }).stderr`;
    expect(await attempt(`return ${said}`)).toMatch(/Operation not permitted/);
  });

  test('write to the system or anywhere outside its directories', async () => {
    for (const path of ['/planted', '/usr/planted', '/etc/planted', '/dev/planted', '/proc/planted']) {
      expect(await attempt(`fs.writeFileSync(${quote(path)}, '')`)).toMatch(/EROFS|ENOENT|EACCES/);
    }
    const written = `for (const path of ['/tmp/a', '/run/a', '/dev/shm/a', 'a', process.env.HOME + '/a']) fs.writeFileSync(path, '')`;
    expect(await attempt(written)).toBe(null);
    expect([existsSync('/run/a'), existsSync('/dev/shm/a')]).toEqual([false, false]);
  });

  test('reach the daemon’s port, or any other, on loopback', async () => {
    const { url } = await daemon.running.client.getStatus();
    const port = Number(new URL(url ?? '').port);
    for (const host of ['127.0.0.1', '::1']) {
      expect(await attempt(`return reach(${quote({ host, port })})`)).toMatch(/ECONNREFUSED|EADDRNOTAVAIL/);
    }
  });

  test('reach any host without an allow-list', async () => {
    expect(await attempt(`return reach({ host: 'example.com', port: 443 })`)).toMatch(/ENOTFOUND|EAI_AGAIN/);
    expect(await attempt(`return reach({ host: '1.1.1.1', port: 443 })`)).toBe('ENETUNREACH');
    expect(await attempt(`return Object.keys(process.env).filter((name) => /proxy/i.test(name))`)).toEqual([]);
  });

  test('fill more of /tmp than its share, or leave anything there', async () => {
    const fill = `children.spawnSync('sh', ['-c', 'head -c 700M /dev/zero > /tmp/fill; stat -c %s /tmp/fill'], { encoding: 'utf8' })`;
    const { stdout, stderr } = (await attempt(`return ${fill}`)) as { stdout: string; stderr: string };
    expect(stderr).toMatch(/No space left/);
    expect(Number(stdout)).toBeLessThanOrEqual(512 * 1024 ** 2);
    expect(await attempt(`return fs.readdirSync('/tmp').includes('fill')`)).toBe(false);
    expect(existsSync('/tmp/fill')).toBe(false);
  });

  test('leave a fork bomb running after its turn', async () => {
    const mark = `bomb-${process.pid}`;
    // Each process leaves its session, clears its environment, ignores signals and keeps their number up.
    const perl = `use POSIX; POSIX::setsid(); %ENV = (); $SIG{$_} = 'IGNORE' for qw(TERM INT HUP); for (1 .. 7) { fork } while (1) { select undef, undef, undef, 0.2; fork or exit 0 }`;
    expect(
      await attempt(`
        children.spawn('perl', ['-e', ${quote(perl)}, ${quote(mark)}], { detached: true, stdio: 'ignore' }).unref();
        const many = () => fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length > 64;
        for (let n = 0; n < 1000 && !many(); n += 1) await new Promise((resolve) => setTimeout(resolve, 10));
        return many();
      `),
    ).toBe(true);
    await until('the agent is idle', async () => (await daemon.running.client.getAgent('hostile')).state === 'idle');
    expect(processesWith(mark)).toEqual([]);
  });

  test('create a child with a wider scope than its own', async () => {
    await using scoped = await startHostile();
    const tools = ['spawn_agent', 'list_agents'];
    const { client } = scoped.running;
    const program = join(import.meta.dirname, 'fixtures/hostile.ts');
    await client.createAgent({ name: 'narrow', program, tools });
    await scoped.attempt(`await call('spawn_agent', { name: 'kid', instructions: 'x' })`, 'narrow');
    expect(
      await scoped.attempt(`return call('send_message', { recipient: 'narrow', text: 'x' })`, 'kid'),
    ).not.toMatchObject({
      message_id: expect.any(String),
    });
    expect(
      await scoped.attempt(
        `await call('spawn_agent', { name: 'kid2', instructions: 'x', tools: ['send_message'] })`,
        'narrow',
      ),
    ).toMatch(/bad_request|invalid/);
  });
});

describe.skipIf(noBwrap !== null)('symlinks', () => {
  test('in place of a child’s subdirectory are refused, and the child does not run', async () => {
    await using daemon = await startHostile({ config: '[daemon]\nmax_attempts = 1\n' });
    const outside = join(daemon.running.directory, 'outside');
    mkdirSync(outside);
    await daemon.attempt(`await call('spawn_agent', { name: 'child', instructions: 'x', workspace_subdir: 'a/b' })`);
    expect(await daemon.attempt('fs.writeFileSync("mine", ""); return process.cwd()', 'child')).toBe(
      join(daemon.workspace, 'a/b'),
    );
    await daemon.attempt(`fs.renameSync('a/b', 'a/c'); fs.symlinkSync(${quote(outside)}, 'a/b')`);
    expect(await daemon.attempt('fs.writeFileSync("mine", "")', 'child')).toEqual({
      failed: expect.stringMatching(/a\/b is a symbolic link/),
    });
    await daemon.attempt(`fs.renameSync('a', 'z'); fs.symlinkSync(${quote(outside)}, 'a')`);
    expect(await daemon.attempt('fs.writeFileSync("mine", "")', 'child')).toEqual({
      failed: expect.stringMatching(/is a symbolic link/),
    });
    expect(readdirSync(outside)).toEqual([]);
  });
});

describe.skipIf(noBwrap !== null)('with an allow-list, a hostile program', () => {
  const server = createServer((_, response) => response.end('from outside'));
  let daemon: HostileDaemon;
  let port: number;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
    daemon = await startHostile({ network: [`127.0.0.1:${port}`, 'listed.example'] });
  });
  afterAll(async () => {
    await daemon?.running.stop();
    server.close();
  });

  test('reaches listed hosts', async () => {
    expect(
      await daemon.attempt(`return children.execSync('curl -s --noproxy "" http://127.0.0.1:${port}/').toString()`),
    ).toBe('from outside');
    expect(
      await daemon.attempt(`return children.execSync('curl -sp --noproxy "" http://127.0.0.1:${port}/').toString()`),
    ).toBe('from outside');
  });

  test('cannot kill or replace the proxy', async () => {
    // To all processes; the port belongs to the daemon, so there are none.
    expect(await daemon.attempt(`process.kill(-1, 'SIGKILL')`)).toBe('ESRCH');
    const bind = (options: object) => `
      return new Promise((resolve) => {
        const server = net.createServer((client) => client.end('HTTP/1.1 200 OK\\r\\n\\r\\nforged'));
        server.on('error', (error) => resolve(error.code)).listen(${quote(options)}, () => resolve('bound'));
      })`;
    for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
      expect(await daemon.attempt(bind({ host, port: 18731 }))).toBe('EADDRINUSE');
    }
    const curl = `children.execSync('curl -s --noproxy "" http://127.0.0.1:${port}/').toString()`;
    expect(await daemon.attempt(`try { process.kill(-1, 'SIGKILL') } catch {} return ${curl}`)).toBe('from outside');
  });

  test.each([
    ['a host by name', 'https://example.com/'],
    ['a host by address', 'https://1.1.1.1/'],
    ['the metadata of a cloud', 'http://169.254.169.254/'],
    ['another port of a listed host', 'https://listed.example:8443/'],
  ])('does not reach %s that is not listed', async (_, url) => {
    const curl = `children.spawnSync('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code} %{http_connect}', ${quote(url)}], { encoding: 'utf8' })`;
    expect(await daemon.attempt(`return ${curl}.stdout`)).toMatch(/403/);
    const { hostname: host } = new URL(url);
    expect(await daemon.attempt(`return reach({ host: ${quote(host)}, port: 443 })`)).toMatch(
      /ENETUNREACH|ENOTFOUND|EAI_AGAIN/,
    );
  });

  test('does not reach the daemon’s port through the proxy', async () => {
    const { url } = await daemon.running.client.getStatus();
    const curl = `children.spawnSync('curl', ['-s', '--noproxy', '', ${quote(`${url}/health`)}], { encoding: 'utf8' })`;
    expect(await daemon.attempt(`return ${curl}.stdout`)).toMatch(/may not reach/);
  });

  test('has Node use the proxy, and finds no other way', async () => {
    expect(
      await daemon.attempt(
        `return fetch('https://example.com/').then(() => 'reached', (error) => String(error.cause))`,
      ),
    ).not.toBe('reached');
  });
});

/** Processes of this machine whose command line contains the mark. */
function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark) && pid !== String(process.pid);
    } catch {
      return false;
    }
  });
}
