// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';
import { acpProviders } from './providers.ts';

describe('[db]', () => {
  test('is a file, relative to the configuration, or a database URL', () => {
    const config = load('db.path = "data/x.db"');
    expect(config.db).toEqual({ path: join(config.cwd, 'data/x.db') });
    expect(load('db.path = ":memory:"').db).toEqual({ path: ':memory:' });
    expect(load('db.url = "postgres://u:${PW}@h/db"', { PW: 'x' }).db).toEqual({
      url: 'postgres://u:x@h/db',
      pool: 16,
      directUrl: null,
      prepared: true,
    });
    expect(load('db.url = "postgresql:///db?host=/run/pg"').db).toEqual({
      url: 'postgresql:///db?host=/run/pg',
      pool: 16,
      directUrl: null,
      prepared: true,
    });
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

describe('[policies]', () => {
  test('may be about own tools of programs', () => {
    const source = '[policies.p]\ntool = "own:write"\naction = "ask"\narguments = { path = "/a/*" }';
    expect(load(source).policies).toMatchObject([{ name: 'p', tool: 'own:write', arguments: { path: '/a/*' } }]);
  });

  test.each([
    ['tool = "own:files"', 'must be a tool, "*", or one of own:*, own:shell'],
    ['tool = "own:shell"\narguments = { command = "ls *" }', 'must be a whole command'],
    ['tool = "own:*"\narguments = { command = "ls*" }', 'must be a whole command'],
  ])('refuses %j', (source, message) => {
    expect(failureText(`[policies.p]\naction = "allow"\n${source}`)).toContain(message);
  });
});

describe('[node]', () => {
  test('has a name, labels, a time of silence and shared directories', () => {
    const { node } = load(
      '[node]\nname = "gpu-box"\nlabels = ["gpu"]\ndead_after = "45s"\nshared = ["/srv/shared/"]\nportable = false\nwip_remote = "ssh://git@example.com/wip.git"',
    );
    const shared = { shared: ['/srv/shared'], portable: false, wipRemote: 'ssh://git@example.com/wip.git' };
    expect(node).toEqual({ name: 'gpu-box', labels: ['gpu'], deadAfterMs: 45_000, ...shared });
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

  test('limits what a turn may use; 0 turns a limit off', () => {
    const limits = { processes: 400, openFiles: 8192, diskBytes: 10 * 1024 ** 3 };
    expect(load('').sandbox.limits).toMatchObject(limits);
    expect(load('').sandbox.limits.memoryBytes).toBeLessThanOrEqual(4 * 1024 ** 3);
    const off = 'max_memory_mb = 0\nmax_processes = 0\nmax_cpus = 0\nmax_open_files = 0\nmax_disk_mb = 0';
    expect(new Set(Object.values(load(`[sandbox]\n${off}`).sandbox.limits))).toEqual(new Set([Infinity]));
    expect(load('sandbox.max_memory_mb = 100').sandbox.limits.memoryBytes).toBe(100 * 1024 ** 2);
  });

  test('accepts hosts, not URLs', () => {
    expect(load('sandbox.network = ["api.x.com", "h:8080"]').sandbox.network).toEqual(['api.x.com', 'h:8080']);
    expect(failureText('sandbox.network = ["https://x"]')).toContain('[sandbox] network[0] must be a host');
  });
});

describe('[providers]', () => {
  test('have defaults for omitted keys', () => {
    const program = {
      command: null,
      args: [],
      env: {},
      accounts: {},
      slots: null,
      prices: null,
      assumePrice: null,
      quietAfter: null,
      stalledAfter: null,
    };
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
    const undated = { source: null, asOf: null };
    expect(pricesIn('{ input = 3, output = 15 }')).toEqual({ ...undated, every: { input: 3, output: 15 }, models: {} });
    expect(pricesIn('{ "gpt-5.1" = { input = 1, output = 8 } }')).toEqual({ ...undated, every: null, models: own });
    expect(pricesIn('{ input = 3, output = 15, "gpt-5.1" = { input = 1, output = 8 } }')).toEqual({
      ...undated,
      every: { input: 3, output: 15 },
      models: own,
    });
    expect(pricesIn('{ input = 3, output = 15, source = "the price list", as_of = "2026-11-01" }')).toEqual({
      every: { input: 3, output: 15 },
      models: {},
      source: 'the price list',
      asOf: '2026-11-01',
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
    [
      '[providers.scripted]\nprices = { input = 1, output = 1, as_of = "November" }',
      '2: [providers.scripted.prices] as_of must be a date such as "2026-11-18"',
    ],
    ['[providers.scripted]\nprices = { source = "x" }', '2: [providers.scripted.prices] input is missing'],
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

describe('[providers.NAME] kind = "acp"', () => {
  test('is a provider of its own, also without a command if the name is known', () => {
    const { providers } = load('[providers.goose]\nkind = "acp"\n[providers.mine]\nkind = "acp"\ncommand = "./x"\n');
    expect(acpProviders(providers).map(([name]) => name)).toEqual(['goose', 'mine']);
    expect(acpProviders(providers)[1]?.[1]).toMatchObject({ ownTools: true, loginFiles: [], authMethod: null });
  });

  test.each([
    ['[providers.claud]\ncommand = "x"', '1: unknown key "claud" in [providers]; did you mean "claude"?'],
    ['[providers]\nmine = 1', '2: unknown key "mine" in [providers]'],
    ['[providers.mine]\nkind = "acpp"', '2: [providers.mine] kind must be "acp"; got "acpp"'],
    ['[providers.mine]\nkind = "acp"', '1: [providers.mine] command is missing (known without it: auggie, '],
    ['[providers.external]\nkind = "acp"\ncommand = "x"', '1: [providers] external cannot be the name of a provider'],
    ['[providers.mine]\nkind = "acp"\ncommand = "x"\nforce = true', '4: unknown key "force" in [providers.mine]'],
    ['[providers.mine]\nkind = "acp"\ncommand = "x"\nlogin_files = ["../x"]', '4: [providers.mine] login_files'],
  ])('refuses %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });
});
