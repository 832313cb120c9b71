// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';

test('the complete example of the specification defines its personas and its tool', () => {
  const example = readFileSync(join(import.meta.dirname, '../../../test/fixtures/config/complete.toml'), 'utf8');
  const { agents, tools, cwd } = load(example, { JIRA_API_TOKEN: 'secret' });
  expect(agents).toMatchObject([
    { name: 'code-reviewer', kind: 'toml', tools: ['search', 'get'], table: '[agents.code-reviewer]' },
    { name: 'architect', kind: 'toml', description: 'Answers architecture questions' },
    {
      name: 'incident-responder',
      kind: 'lua',
      path: join(cwd, 'agents/incident-responder.lua'),
      timeoutMs: 30_000,
      config: { search_limit: 5 },
    },
  ]);
  expect(tools).toEqual([
    {
      name: 'create_jira_ticket',
      path: join(cwd, 'tools/create-jira-ticket.lua'),
      timeoutMs: 30_000,
      env: [],
      network: null,
      config: { url: 'https://acme.atlassian.net', api_token: 'secret' },
    },
  ]);
});

describe('[agents]', () => {
  test('can be texts, scripts and modules, in a short and a long form', () => {
    const { agents, cwd } = load(`
[agents.a]
path = "a.lua"
timeout = 0.5
[agents.inline.b]
description = "B"
system_prompt = "Be B."
[agents.module.c]
path = "c.ts"
[agents.script.d]
path = "d.lua"
env = ["TOKEN"]
network = ["api.example.com"]
free = { key = 1 }`);
    const lua = { kind: 'lua', timeoutMs: 30_000, env: [], network: null, config: {} };
    expect(agents).toEqual([
      { ...lua, name: 'a', table: '[agents.a]', path: join(cwd, 'a.lua'), timeoutMs: 500 },
      { name: 'b', table: '[agents.inline.b]', kind: 'toml', description: 'B', tools: [], system: 'Be B.' },
      {
        ...lua,
        name: 'd',
        table: '[agents.script.d]',
        path: join(cwd, 'd.lua'),
        env: ['TOKEN'],
        network: ['api.example.com'],
        config: { free: { key: 1 } },
      },
      { name: 'c', table: '[agents.module.c]', kind: 'ts', path: join(cwd, 'c.ts'), timeoutMs: 30_000 },
    ]);
  });

  test.each([
    ['[agents."a b"]\npath = "x"', '1: [agents] "a b" is not a valid name: a name has 1 to 64'],
    ['[agents.inline."a/b"]', '1: [agents.inline."a/b"]: a name has 1 to 64'],
    ['[agents.a]\npath = "x"\n[agents.script.A]\npath = "y"', '3: [agents.script] A is the same name as [agents.a]'],
    ['[agents.a]\nsystem_prompt = "x"', '1: [agents.a] description is missing'],
    ['[agents.a]\ndescription = "x"', '1: [agents.a] system_prompt is missing'],
    ['[agents.a]\npath = "x"\nsystem_prompt = "y"', '3: [agents.a] system_prompt cannot be combined with "path"'],
    ['[agents.a]\nsytem_prompt = "y"', '2: unknown key "sytem_prompt" in [agents.a]; did you mean "system_prompt"?'],
    ['[agents.a]\npath = "x"\nsearch_limit = 1', '3: unknown key "search_limit" in [agents.a]'],
    ['[agents.script.a]\ntimeout = 0', '2: [agents.script.a] timeout must be a number of seconds from 0.05 to 3600'],
    ['[agents.script.a]\nfree = 1', '1: [agents.script.a] path is missing'],
    ['[agents.module.a]\npath = "x"\nfree = 1', '3: unknown key "free" in [agents.module.a]'],
    ['agents.a = 1', '1: [agents] a must be a table; got 1'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });
});

describe('[tools]', () => {
  test.each([
    ['[tools.script."a b"]\npath = "x"', '1: [tools.script."a b"]: a name has 1 to 64'],
    [
      '[tools.script.a]\npath = "x"\n[tools.script.A]\npath = "x"',
      '3: [tools.script] A is the same name as [tools.script.a]',
    ],
    ['[tools.scripts.a]', '1: unknown key "scripts" in [tools]; did you mean "script"?'],
    ['[tools.script.a]\npath = "x"\nnetwork = ["https://x"]', '3: [tools.script.a] network[0] must be a host'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });
});
