import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { loadFound } from './trust.ts';

describe('include', () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'substrat-include-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  };
  const load = (text: string) => {
    write('home/config.toml', text);
    return loadConfig({ cwd, home: join(cwd, 'home'), env: {} });
  };

  test('adds the members, channels, personas and sources of every file that matches', () => {
    write('home/teams/b.toml', '[members.bea]\nworkspace = "./site"\n[connectors.filesystem.b]\nroot = "/b"\n');
    write(
      'home/teams/a.toml',
      '[members.ann]\n[channels.talk]\nmembers = ["ann"]\n[agents.x]\ndescription = "x"\nsystem_prompt = "x"\n',
    );
    const config = load(
      'include = ["teams/*.toml"]\n[members.lead]\n[connectors.filesystem.own]\nroot = "."\n[daemon]\nslots = 2\n',
    );
    expect(config.members.map(({ name }) => name)).toEqual(['lead', 'ann', 'bea']);
    expect(config.members[2]?.workspace).toBe(join(cwd, 'home/teams/site'));
    expect(config.channels.map(({ id }) => id)).toEqual(['talk']);
    expect(config.agents.map(({ name }) => name)).toEqual(['x']);
    expect(Object.keys(config.connectors.filesystem)).toEqual(['own', 'b']);
    expect(config).not.toHaveProperty('include');
    expect(config.daemon.slots).toBe(2);
    expect(config.file).toBe(join(cwd, 'home/config.toml'));
  });

  test('a pattern without files is fine, a named file must exist', () => {
    expect(load('include = ["teams/*.toml"]\n').members).toEqual([]);
    expect(() => load('include = ["teams/site.toml"]\n')).toThrow(/teams\/site\.toml: the configuration file does not/);
  });

  test.each([
    ['[sandbox]\nmode = "none"\n', 'home/teams/a.toml:1: unknown section [sandbox]'],
    ['[providers.claude]\ncommand = "x"\n', 'home/teams/a.toml:1: unknown section [providers]'],
    ['include = ["b.toml"]\n', 'home/teams/a.toml:1: unknown key "include" outside any section'],
    ['[members.x]\nparent = "lead"\n', 'home/teams/a.toml:2: [members.x] parent must name another member'],
    ['[members.LEAD]\n', 'home/teams/a.toml: [members.lead] exists in another file'],
    ['[channels.talk]\n', 'home/teams/a.toml: [channels.talk] exists in another file'],
    ['[connectors.filesystem.d]\nroot = "/"\n', 'home/teams/a.toml: [connectors.filesystem.d] exists in another file'],
  ])('an included file cannot contain %j', (team, problem) => {
    write('home/teams/a.toml', team);
    const own = '[members.lead]\n[channels.talk]\n[connectors.filesystem.d]\nroot = "."\n';
    expect(() => load(`include = ["teams/*.toml"]\n${own}`)).toThrow(problem);
  });

  test('included files are in the directory of the file', () => {
    write('elsewhere.toml', '[members.x]\n');
    expect(() => load('include = ["../elsewhere.toml"]\n')).toThrow('must be in the directory of this file');
    expect(() => load(`include = ["${join(cwd, 'elsewhere.toml')}"]\n`)).toThrow('must be in the directory');
  });

  test('a file of the current directory, which ctx finds, cannot include others', () => {
    write('ctx.toml', 'include = ["more.toml"]\n');
    write('more.toml', '[connectors.filesystem.root]\nroot = "/"\n');
    const options = { file: join(cwd, 'ctx.toml'), cwd, home: join(cwd, 'home'), env: {} };
    expect(() => loadFound(options, null)).toThrow('can include others');
  });
});
