// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { type Asker, readFor } from './same-settings.ts';

let directory: string;
let home: string;
let project: string;
const OWN = '[db]\npath = "a.db"\n[retrieval]\nfinal_limit = 3\n';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'same-'));
  [home, project] = [join(directory, 'home'), join(directory, 'project')];
  for (const path of [home, project]) mkdirSync(path, { mode: 0o700 });
});
afterEach(() => rmSync(directory, { recursive: true }));

/** What a process with `own` says to a command in a directory with `theirs`. */
function ask(theirs: string, { own = OWN, ...changed }: Partial<Asker> & { own?: string } = {}) {
  const [mine, file] = [join(project, 'own.toml'), join(project, 'ctx.toml')];
  writeFileSync(mine, own);
  writeFileSync(file, theirs);
  const config = loadConfig({ file: mine, cwd: project, home, env: { HOME: directory } });
  const asker = { cwd: project, named: null, trust: false, userHome: directory, source: theirs, ...changed };
  return readFor(asker, home, config);
}

test('a command with the same store and search settings is answered', () => {
  expect(ask(OWN)).toEqual(['using ctx.toml (not trusted)']);
  expect(ask(OWN, { trust: true })).toEqual(['using ctx.toml (trusted)']);
  expect(ask(OWN, { named: 'ctx.toml' })).toEqual([]);
  // Other sections do not change a search, nor does a default that is written out.
  expect(ask(`${OWN}candidates = 80\n[server]\nbind = "127.0.0.1:9"\n`)).not.toBeNull();
});

test.each([
  ['another store', OWN.replace('a.db', 'b.db')],
  ['another limit', OWN.replace('3', '4')],
  ['another fusion', `${OWN}fusion = "rrf"\n`],
  ['another model', `${OWN}[embedding]\nprovider = "local"\n`],
  ['a variable of its environment', OWN.replace('a.db', '${NAME:-a.db}')],
  ['a mistake', `${OWN}unknown = 1\n`],
])('a command with %s is not answered', (_, theirs) => {
  expect(ask(theirs, { named: 'ctx.toml' })).toBeNull();
  expect(ask(theirs, { trust: true })).toBeNull();
});

test('a command that reads another file at the same path is not answered', () => {
  expect(ask(OWN, { source: `${OWN}# of another container\n` })).toBeNull();
  expect(ask(OWN, { source: null })).toBeNull();
});

test('a command whose configuration needs trust is not answered', () => {
  const outside = OWN.replace('a.db', '../home/a.db');
  expect(ask(outside, { own: outside })).toBeNull();
  expect(ask(outside, { own: outside, trust: true })).not.toBeNull();
});

test('`~` is the home directory of the command', () => {
  const own = OWN.replace('a.db', '~/a.db');
  expect(ask(own, { own, named: 'ctx.toml' })).toEqual([]);
  expect(ask(own, { own, named: 'ctx.toml', userHome: home })).toBeNull();
});

test('a store in memory belongs to one process', () => {
  const own = OWN.replace('a.db', ':memory:');
  expect(ask(own, { own, named: 'ctx.toml' })).toBeNull();
});

test('without a configuration, the home decides', () => {
  writeFileSync(join(home, 'config.toml'), OWN);
  const config = loadConfig({ cwd: project, home, env: {} });
  const asker = { cwd: project, named: null, trust: false, userHome: directory };
  expect(readFor({ ...asker, source: OWN }, home, config)).toEqual([]);
  writeFileSync(join(home, 'config.toml'), OWN.replace('3', '5'));
  expect(readFor({ ...asker, source: readFileSync(join(home, 'config.toml'), 'utf8') }, home, config)).toBeNull();
});
