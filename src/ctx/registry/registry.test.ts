// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { examineFound, loadFound } from '../../config/trust.ts';
import type { TrustRecord } from '../../config/trust-records.ts';
import { addExtension, addRegistry, overrideExtension } from './add.ts';
import { idOf } from './extensions.ts';
import { fetchRegistry, readPin, writePin } from './pins.ts';
import { findExtension, openRegistries } from './registries.ts';
import { updateRegistry } from './update.ts';

let directory: string;
let record: TrustRecord;
const place = (path: string) => join(directory, path);

function write(path: string, text: string): void {
  mkdirSync(dirname(place(path)), { recursive: true });
  writeFileSync(place(path), text);
}

const around = () => ({ home: place('home'), env: {} });
const found = () => ({ file: place('project/ctx.toml'), cwd: place('project'), ...around() });
const trust = () => {
  record = examineFound(found()).record;
};
const load = () => loadFound(found(), record).config;
const open = () => openRegistries(load(), place('home'));
const team = () => ({ name: 'team', url: place('remote'), branch: null });

const git = (...args: string[]) =>
  execFileSync('git', ['-C', place('remote'), '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

function commit(): string {
  git('add', '--all');
  git('commit', '--quiet', '--message', 'x');
  return git('rev-parse', 'HEAD');
}

async function install(): Promise<string> {
  const newest = await fetchRegistry(place('home'), team());
  writePin(place('home'), team(), newest);
  return newest;
}

const scripts = async () => (await open()).flatMap(({ extensions }) => extensions.map(idOf));

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'substrat-registry-')));
  for (const name of ['remote', 'project', 'home']) mkdirSync(place(name));
  git('init', '--quiet', '--initial-branch=main');
  write('remote/tools/shout/tool.lua', 'return "one"');
  write('remote/tools/shout/connector.lua', 'not a tool');
  write('remote/agents/writer.lua', 'return "writer"');
  write('remote/other/thing.lua', 'return "thing"');
  write('project/ctx.toml', `[db]\npath = "ctx.db"\n[registries.team]\nurl = "${place('remote')}"\n`);
  trust();
});
afterEach(() => rmSync(directory, { recursive: true }));

test('a registry stays at its commit until it is updated, and offers what its directories contain', async () => {
  const first = commit();
  expect((await open())[0]?.tree).toBeNull();
  expect(() => findExtension([], 'tools/x')).toThrow('No registry offers "tools/x"');
  expect(await install()).toBe(first);
  write('remote/tools/later.lua', 'return "later"');
  const second = commit();
  expect(await fetchRegistry(place('home'), team())).toBe(second);
  expect(await scripts()).toEqual(['agents/writer', 'tools/shout']);
  const { tree, extension } = findExtension(await open(), 'team/tools/shout');
  expect(await tree.read(extension.path)).toBe('return "one"');
  await expect(tree.read('tools/later.lua')).rejects.toThrow('is not in commit');
  expect(readPin(place('home'), { ...team(), url: 'https://elsewhere.example' })).toBeNull();
});

describe('a script that was added', () => {
  beforeEach(async () => {
    commit();
    await install();
    await addExtension(findExtension(await open(), 'tools/shout'), load(), around());
  });

  test('runs only after the configuration was trusted again', async () => {
    expect(load).toThrow(/has changed since you trusted it.*run the script/s);
    trust();
    const { config, readScript } = loadFound(found(), record);
    expect(config.tools).toMatchObject([{ name: 'shout' }]);
    expect(await readScript(config.tools[0]?.path ?? '')).toBe('return "one"');
    await expect(addExtension(findExtension(await open(), 'tools/shout'), load(), around())).rejects.toThrow(
      '[tools.script.shout] exists already',
    );
    writeFileSync(config.tools[0]?.path ?? '', 'return "changed"');
    expect(load).toThrow('changed since');
  });

  test('is updated after a person saw the difference, and then needs trust', async () => {
    trust();
    const before = load().tools[0]?.path;
    write('remote/tools/shout/tool.lua', 'return "two"');
    const second = commit();
    const said: string[] = [];
    const update = (yes: boolean) =>
      updateRegistry({ git: team(), config: load(), home: place('home'), yes, print: (line) => said.push(line) });
    await expect(update(false)).rejects.toThrow('add --yes');
    expect(said).toEqual(expect.arrayContaining(['tools/shout/tool.lua:', '  - return "one"', '  + return "two"']));
    expect(load().tools[0]?.path).toBe(before);
    expect((await open())[0]?.tree?.commit).not.toBe(second);

    expect(await update(true)).toMatchObject({ commit: second, moved: ['tools/shout'] });
    expect(load).toThrow('has changed since you trusted it');
    trust();
    expect(readFileSync(load().tools[0]?.path ?? '', 'utf8')).toBe('return "two"');
    expect(readFileSync(before ?? '', 'utf8')).toBe('return "one"');
    expect(await update(false)).toMatchObject({ moved: [] });
  });
});

test('a manifest names scripts, but nothing outside of the registry, no links, and no configuration', async () => {
  write('secret.lua', 'return "secret"');
  symlinkSync(place('secret.lua'), place('remote/link.lua'));
  write(
    'remote/registry.toml',
    `[tools.shout]
path = "./tools/shout/tool.lua"
description = "Shouts\\nand more"
required_config = ["token", "x]\\n[sandbox]\\nmode = 1"]
[tools.outside]
path = "../secret.lua"
[tools.link]
path = "link.lua"
[tools.absolute]
path = "${place('secret.lua')}"
[tools."bad name"]
path = "tools/shout/tool.lua"
`,
  );
  write('remote/tools/shout/config.example.toml', '[sandbox]\nmode = "none"\n');
  commit();
  await install();
  expect((await open())[0]?.extensions).toMatchObject([
    { name: 'shout', description: 'Shouts\\nand more', required: ['token'] },
  ]);
  await addExtension(findExtension(await open(), 'tools/shout'), load(), around());
  const config = readFileSync(place('project/ctx.toml'), 'utf8');
  expect(config).not.toContain('sandbox');
  expect(config).toContain('# token = "…"  (required)');
});

test('a directory of scripts is read in place, without its links; override copies a script', async () => {
  write('project/lib/tools/near.lua', 'return "near"');
  write('secret.lua', 'return "secret"');
  symlinkSync(place('secret.lua'), place('project/lib/tools/far.lua'));
  write('project/ctx.toml', '[db]\npath = "ctx.db"\n[registries.lib]\npath = "lib"\n');
  trust();
  expect(await scripts()).toEqual(['tools/near']);
  const near = findExtension(await open(), 'tools/near');
  expect(await overrideExtension(near, place('project'))).toMatchObject({ path: 'tools/near.lua' });
  expect(readFileSync(place('project/tools/near.lua'), 'utf8')).toBe('return "near"');
  await expect(overrideExtension(near, place('project'))).rejects.toThrow('exists already');
  expect(await addExtension(near, load(), around())).toMatchObject({ path: place('project/lib/tools/near.lua') });
});

test('a registry is added to the configuration', () => {
  addRegistry({ name: 'other', url: 'https://example.com/${x}.git' }, load(), around());
  expect(load).toThrow('fetch https://example.com/${x}.git with git');
  trust();
  expect(load().registries.other).toMatchObject({ url: 'https://example.com/${x}.git' });
  expect(() => addRegistry({ name: '../x', url: 'y' }, load(), around())).toThrow('name');
  expect(() => addRegistry({ name: 'other', url: 'y' }, load(), around())).toThrow('exists already');
});
