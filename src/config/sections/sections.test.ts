// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';

describe('[db]', () => {
  test('is a file, relative to the configuration, or a database', () => {
    const config = load('db.path = "data/x.db"');
    expect(config.db).toEqual({ path: join(config.cwd, 'data/x.db') });
    expect(load('db.path = ":memory:"').db).toEqual({ path: ':memory:' });
    expect(load('db.url = "postgres://u:${PW}@h/db"', { PW: 'x' }).db).toEqual({ url: 'postgres://u:x@h/db' });
    expect(load('db.url = "postgresql:///db?host=/run/pg"').db).toEqual({ url: 'postgresql:///db?host=/run/pg' });
  });

  test.each([
    ['path = "a"\nurl = "postgres://h/db"', '3: [db] url excludes "path"'],
    ['url = "mysql://h/db"', '2: [db] url is no URL of a PostgreSQL database'],
    ['path = "postgres://h/db"', '2: [db] path must be a file; the URL of a database goes into "url"'],
    ['path = ""', '2: [db] path must not be empty'],
    ['path = "a\\u0000"', '2: [db] path must not contain a NUL character'],
  ])('refuses %j', (source, message) => {
    expect(failureText(`[db]\n${source}`)).toContain(`substrat.toml:${message}`);
  });
});

describe('[server]', () => {
  test.each([
    ['0.0.0.0:0', { host: '0.0.0.0', port: 0 }],
    ['[::1]:80', { host: '::1', port: 80 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
  ])('binds to %s', (bind, expected) => {
    expect(load(`server.bind = "${bind}"`).server).toEqual({ bind: expected });
  });

  test.each(['7331', ':7331', 'localhost', 'h:65536', '1.2.3:1', '[x]:1', '::1:80', 'h:1/x'])('refuses %s', (bind) => {
    expect(failureText(`server.bind = "${bind}"`)).toMatch(
      /^substrat\.toml:1: \[server\] bind must be an address and a port/,
    );
  });
});

describe('[daemon] and [limits]', () => {
  test('take their numbers within bounds', () => {
    expect(load('daemon = { slots = 1000, lease = "1s" }\nlimits.max_children = 0')).toMatchObject({
      daemon: { slots: 1_000, leaseMs: 1_000 },
      limits: { maxChildren: 0, maxDepth: 6 },
    });
    for (const wrong of [
      'daemon.slots = 0',
      'daemon.slots = 1001',
      'daemon.max_attempts = 0',
      'limits.max_depth = -1',
    ]) {
      expect(failureText(wrong)).toMatch(/^substrat\.toml:1: .* must be a whole number from \d+ to \d+; got -?\d+$/);
    }
    expect(failureText('daemon.turn_timeout = "8d"')).toContain('must be a duration from 100ms to 7d; got "8d"');
  });
});

describe('[sandbox]', () => {
  test('is bwrap where there is Linux, unless somebody says none', () => {
    expect(load('').sandbox.mode).toBe(process.platform === 'linux' ? 'bwrap' : 'none');
    expect(failureText('sandbox.mode = "docker"')).toBe(
      'substrat.toml:1: [sandbox] mode must be "bwrap" or "none"; got "docker"',
    );
    expect(load('sandbox.mode = "none"').sandbox.mode).toBe('none');
  });

  test('takes hosts, not URLs', () => {
    expect(load('sandbox.network = ["api.x.com", "h:8080"]').sandbox.network).toEqual(['api.x.com', 'h:8080']);
    expect(failureText('sandbox.network = ["https://x"]')).toContain('[sandbox] network[0] must be a host');
  });
});

describe('[providers]', () => {
  test('fill in what is not given', () => {
    const { providers } = load('[providers.claude]');
    const expected = { command: null, args: [], env: {}, slots: null, force: false, prices: null };
    expect(providers).toEqual({ claude: expected });
  });

  test('look a bare command up in PATH and any other beside the file', () => {
    const config = load('providers.a.command = "claude"\nproviders.b.command = "./bin/b"');
    expect(config.providers.a?.command).toBe('claude');
    expect(config.providers.b?.command).toBe(join(config.cwd, 'bin/b'));
  });

  test('have no entry that nobody wrote', () => {
    expect(load('').providers.constructor).toBeUndefined();
    expect(load('[providers.constructor]\nforce = true').providers.constructor).toMatchObject({ force: true });
  });

  test.each([
    ['[providers."a b"]', '1: [providers."a b"]: a name has'],
    ['[providers.a]\nprices = { input = 1 }', '2: [providers.a.prices] output is missing'],
    ['[providers.a.prices]\ninput = inf\noutput = 1', '2: [providers.a.prices] input must be a number; got inf'],
    ['[providers.a]\nforce = "yes"', '2: [providers.a] force must be true or false; got "yes"'],
    ['[providers.a]\nenv = { "A=B" = "x" }', '2: [providers.a.env."A=B"]: this cannot be the name of'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });
});
