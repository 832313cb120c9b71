import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../config/config.ts';
import { NOTHING, surveyProject } from './survey.ts';
import { planTeam, writeTeam } from './team-file.ts';
import { TEMPLATE_NAMES, TEMPLATES } from './templates.ts';

let directory: string;
let home: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'team "x" '));
  home = join(directory, 'home');
  mkdirSync(home);
});
afterEach(() => rmSync(directory, { recursive: true }));

const load = () => loadConfig({ cwd: directory, home, env: {} });
const runner = { provider: 'claude', model: null, program: null };
const plan = (name: (typeof TEMPLATE_NAMES)[number], names: readonly string[] = [], survey = NOTHING) =>
  planTeam({ project: 'site', directory, runner }, TEMPLATES[name], survey, {
    names,
    channels: ['site'],
    connectors: load().connectors,
  });

test.each(TEMPLATE_NAMES)('the template %s loads', (name) => {
  const team = plan(name);
  writeTeam(home, team, load);
  const { members, channels, connectors } = load();
  expect(members.map((one) => one.name)).toEqual(TEMPLATES[name].members.map((one) => one.name));
  for (const { workspace, instructions } of members) {
    expect(workspace).toBe(directory);
    expect(instructions).toContain('site');
    expect(instructions).not.toContain('{project}');
  }
  expect(channels.map(({ id }) => id)).toEqual(TEMPLATES[name].channel ? ['team-site'] : []);
  expect(Object.keys(connectors.filesystem)).toEqual(TEMPLATES[name].knowledge ? ['site'] : []);
});

test('names that are taken get the name of the project, and the others learn it', () => {
  const team = plan('review', ['LEAD', 'bug-reviewer', 'site-bug-reviewer']);
  expect(team.members.map(({ name, parent }) => [name, parent])).toEqual([
    ['site-lead', null],
    ['site-bug-reviewer-2', 'site-lead'],
    ['design-reviewer', 'site-lead'],
  ]);
  expect(team.members[0]?.instructions).toContain('The bug-reviewer is called site-bug-reviewer-2.');
});

test('a configuration that does not load afterwards, or does not include the team, is put back', () => {
  const before = 'include = ["own.toml"]\n[daemon]\nslots = 2\n';
  writeFileSync(join(home, 'own.toml'), '[members.x]\n');
  writeFileSync(join(home, 'config.toml'), before);
  expect(() => writeTeam(home, plan('pair'), load)).toThrow('Add "teams/*.toml" to it');
  expect(readFileSync(join(home, 'config.toml'), 'utf8')).toBe(before);
  expect(existsSync(join(home, 'teams/site.toml'))).toBe(false);
  rmSync(join(home, 'config.toml'));
  const fail = () => {
    throw new Error('broken');
  };
  expect(() => writeTeam(home, plan('pair'), fail)).toThrow('broken');
  expect(existsSync(join(home, 'config.toml'))).toBe(false);
});

test('a table called include in the middle of the file is not an include of the file', () => {
  writeFileSync(join(home, 'config.toml'), '[connectors.filesystem.d]\nroot = "."\ninclude = ["**/*.md"]\n');
  writeTeam(home, plan('pair'), load);
  expect(load().members).toHaveLength(2);
  expect(load().connectors.filesystem.d?.include).toEqual(['**/*.md']);
});

test('only texts are taken from a project, and links out of it are not followed', async () => {
  mkdirSync(join(directory, '.claude/agents'), { recursive: true });
  const agent = (name: string, text: string) => writeFileSync(join(directory, '.claude/agents', name), text);
  agent('user.md', 'I am the user.');
  agent(
    'odd.md',
    '---\nname: odd\ndescription: "two\\nlines"\nhooks: {Stop: evil}\nmcpServers: [evil]\n---\nOdd """ \\ text',
  );
  const survey = await surveyProject(directory);
  expect(survey.agents).toEqual([{ name: 'odd', description: 'two lines', system: 'Odd """ \\ text' }]);
  expect(survey.skipped).toMatchObject([{ name: 'user' }]);
  writeTeam(home, plan('pair', [], survey), load);
  expect(
    load()
      .members.find(({ name }) => name === 'odd')
      ?.instructions?.trim(),
  ).toBe('Odd """ \\ text');
  expect(readFileSync(join(home, 'teams/site.toml'), 'utf8')).not.toContain('evil');
});
