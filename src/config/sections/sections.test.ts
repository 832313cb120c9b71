// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';

describe('[db]', () => {
  test('is a file, relative to the configuration, or a database URL', () => {
    const config = load('db.path = "data/x.db"');
    expect(config.db).toEqual({ path: join(config.cwd, 'data/x.db') });
    expect(load('db.path = ":memory:"').db).toEqual({ path: ':memory:' });
    expect(load('db.url = "postgres://u:${PW}@h/db"', { PW: 'x' }).db).toEqual({ url: 'postgres://u:x@h/db' });
    expect(load('db.url = "postgresql:///db?host=/run/pg"').db).toEqual({ url: 'postgresql:///db?host=/run/pg' });
  });

  test.each([
    ['path = "a"\nurl = "postgres://h/db"', '3: [db] url cannot be combined with "path"'],
    ['url = "mysql://h/db"', '2: [db] url must be the URL of a PostgreSQL database'],
    ['path = "postgres://h/db"', '2: [db] path must be a file; set "url" for the URL of a database'],
    ['path = ""', '2: [db] path must not be empty'],
    ['path = "a\\u0000"', '2: [db] path must not contain a NUL character'],
  ])('refuses %j', (source, message) => {
    expect(failureText(`[db]\n${source}`)).toContain(`substrat.toml:${message}`);
  });
});

describe('[node]', () => {
  test('has a name, labels and a time of silence', () => {
    const { node } = load('[node]\nname = "gpu-box"\nlabels = ["gpu"]\ndead_after = "45s"');
    expect(node).toEqual({ name: 'gpu-box', labels: ['gpu'], deadAfterMs: 45_000 });
  });

  test.each([
    ['name = "a b"', '2: [node] name must have 1 to 63 letters'],
    ['labels = [""]', '2: [node] labels'],
    ['dead_after = "29s"', '2: [node] dead_after must not be shorter than `[daemon] lease`'],
  ])('refuses %j', (source, message) => {
    expect(failureText(`[node]\n${source}`)).toContain(`substrat.toml:${message}`);
  });

  test('may be silent for a lease', () => {
    expect(load('daemon.lease = "2s"\nnode.dead_after = "2s"').node.deadAfterMs).toBe(2_000);
  });
});

describe('[server]', () => {
  test.each([
    ['0.0.0.0:0', { host: '0.0.0.0', port: 0 }],
    ['[::1]:80', { host: '::1', port: 80 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
  ])('binds to %s', (bind, expected) => {
    expect(load(`server.bind = "${bind}"`).server.bind).toEqual(expected);
  });

  test.each(['7331', ':7331', 'localhost', 'h:65536', '1.2.3:1', '[x]:1', '::1:80', 'h:1/x'])('refuses %s', (bind) => {
    expect(failureText(`server.bind = "${bind}"`)).toMatch(
      /^substrat\.toml:1: \[server\] bind must be an address and a port/,
    );
  });
});

describe('[daemon] and [limits]', () => {
  test('accept numbers within their bounds', () => {
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
  test('defaults to bwrap on Linux and accepts none', () => {
    expect(load('').sandbox.mode).toBe(process.platform === 'linux' ? 'bwrap' : 'none');
    expect(failureText('sandbox.mode = "docker"')).toBe(
      'substrat.toml:1: [sandbox] mode must be "bwrap" or "none"; got "docker"',
    );
    expect(load('sandbox.mode = "none"').sandbox.mode).toBe('none');
  });

  test('accepts hosts, not URLs', () => {
    expect(load('sandbox.network = ["api.x.com", "h:8080"]').sandbox.network).toEqual(['api.x.com', 'h:8080']);
    expect(failureText('sandbox.network = ["https://x"]')).toContain('[sandbox] network[0] must be a host');
  });
});

describe('[providers]', () => {
  test('have defaults for omitted keys', () => {
    const program = { command: null, args: [], env: {}, slots: null, prices: null };
    expect(load('[providers.scripted]').providers).toEqual({ scripted: program });
    expect(load('[providers.cursor-agent]').providers).toEqual({ 'cursor-agent': { ...program, force: false } });
  });

  test('look up a bare command in PATH and resolve any other relative to the file', () => {
    const { providers, cwd } = load('providers.scripted.command = "agent"\nproviders.cursor-agent.command = "./bin/b"');
    expect(providers.scripted?.command).toBe('agent');
    expect(providers['cursor-agent']?.command).toBe(join(cwd, 'bin/b'));
  });

  test('have no entry for an unconfigured provider', () => {
    expect(load('').providers).not.toHaveProperty('constructor');
  });

  test('accept prices for every model, for some, or both', () => {
    const pricesIn = (source: string) => load(`[providers.scripted]\nprices = ${source}`).providers.scripted?.prices;
    const own = { 'gpt-5.1': { input: 1, output: 8 } };
    expect(pricesIn('{ input = 3, output = 15 }')).toEqual({ every: { input: 3, output: 15 }, models: {} });
    expect(pricesIn('{ "gpt-5.1" = { input = 1, output = 8 } }')).toEqual({ every: null, models: own });
    expect(pricesIn('{ input = 3, output = 15, "gpt-5.1" = { input = 1, output = 8 } }')).toEqual({
      every: { input: 3, output: 15 },
      models: own,
    });
  });

  test.each([
    ['[providers.cursr-agent]', '1: unknown key "cursr-agent" in [providers]; did you mean "cursor-agent"?'],
    ['[providers.external]\nslots = 1', '1: unknown key "external" in [providers]'],
    ['[providers.scripted]\nforce = true', '2: unknown key "force" in [providers.scripted]'],
    [
      '[providers.cursor-agent]\nargs = []\nforces = true',
      '3: unknown key "forces" in [providers.cursor-agent]; did you mean "force"?',
    ],
    ['[providers.scripted]\nprices = { input = 1 }', '2: [providers.scripted.prices] output is missing'],
    ['[providers.scripted]\nprices = {}', '2: [providers.scripted.prices] input is missing'],
    [
      '[providers.scripted.prices]\ninptu = 3\noutput = 15',
      '2: [providers.scripted.prices] inptu must be a table with "input" and "output", the prices of the model with that name; got 3',
    ],
    [
      '[providers.scripted.prices.m]\ninput = 3\noutptu = 15',
      '3: unknown key "outptu" in [providers.scripted.prices.m]; did you mean "output"?',
    ],
    [
      '[providers.scripted.prices]\ninput = inf\noutput = 1',
      '2: [providers.scripted.prices] input must be a number; got inf',
    ],
    ['[providers.cursor-agent]\nforce = "yes"', '2: [providers.cursor-agent] force must be true or false; got "yes"'],
    ['[providers.scripted]\nenv = { "A=B" = "x" }', '2: [providers.scripted.env."A=B"]: not a valid name for'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });
});
