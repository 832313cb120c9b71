import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { documentsInMemory } from '../../test/helpers/knowledge.ts';
import { loadConfig } from '../config/config.ts';
import { readScript } from '../scripting/open.ts';
import { openScripting } from '../scripting/scripting.testkit.ts';
import { definePersona, type Personas } from './personas.ts';
import type { RegistryOptions } from './registry.ts';
import { createRegistry } from './registry.ts';

const scripting = openScripting();
const knowledge = documentsInMemory({
  'Payments outage': 'payments-api: fail over to the second region.',
  'Incident roles': 'Every incident has a commander.',
  'Runbook of runbooks': 'Where to find a runbook.',
});

let cwd: string;
let open: Personas[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'substrat-personas-'));
});
afterEach(() => {
  for (const personas of open) personas.close();
  open = [];
  rmSync(cwd, { recursive: true });
});

const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);

async function personasOf(source: string, more: Partial<RegistryOptions> = {}): Promise<Personas> {
  write('substrat.toml', source);
  const read = () => {
    const config = loadConfig({ file: 'substrat.toml', cwd, home: cwd, env: {} });
    return { entries: config.agents, file: config.file };
  };
  const log = () => undefined;
  const options = {
    read,
    code: [],
    knowledge,
    knownTools: null,
    log,
    scripting,
    readScript,
    env: { LISTED: 'yes', OTHER: 'no' },
  };
  const personas = await createRegistry({ ...options, ...more });
  open.push(personas);
  return personas;
}

describe('a text of the configuration', () => {
  test('is listed and resolved as written', async () => {
    const personas = await personasOf(
      '[agents.code-reviewer]\ndescription = "Reviews"\ntools = ["search", "get"]\nsystem_prompt = """\nYou review.\n"""',
    );
    const info = {
      name: 'code-reviewer',
      description: 'Reviews',
      tools: ['search', 'get'],
      source: 'toml',
      arguments: [],
    };
    expect(personas.list()).toEqual([info]);
    await expect(personas.resolve('code-reviewer', {})).resolves.toEqual({
      system: 'You review.\n',
      tools: ['search', 'get'],
      messages: [],
    });
  });
});

describe('a script', () => {
  beforeEach(() =>
    copyFileSync(
      join(import.meta.dirname, '../../examples/knowledge/agents/incident-responder.lua'),
      join(cwd, 'ir.lua'),
    ),
  );

  test('runs as printed in the specification: incident-responder.lua', async () => {
    const personas = await personasOf(
      '[agents.script.incident-responder]\npath = "ir.lua"\ntimeout = 30\nsearch_limit = 2\npriority_sources = ["runbooks"]',
    );
    expect(personas.problems()).toEqual([]);
    expect(personas.list()).toEqual([
      {
        name: 'incident-responder',
        description: 'Helps triage production incidents with relevant runbooks',
        tools: ['search', 'get', 'create_jira_ticket'],
        source: 'lua',
        arguments: [
          { name: 'service', description: 'The service experiencing the incident', required: false },
          { name: 'severity', description: 'Incident severity (P1, P2, P3)', required: false },
        ],
      },
    ]);
    const prompt = await personas.resolve('incident-responder', { service: 'payments-api', severity: 'P1' });
    expect(prompt).toEqual({
      system: expect.stringMatching(
        /^You are an incident responder for the payments-api service \(P1 severity\)\.\n[\s\S]*## Payments outage\npayments-api: fail over[\s\S]*## Incident roles\n/,
      ),
      tools: ['search', 'get', 'create_jira_ticket'],
      messages: [
        {
          role: 'assistant',
          content:
            "I'm ready to help with the P1 payments-api incident. I've loaded 2 relevant runbooks. What's the current situation?",
        },
      ],
    });
    const { system } = await personas.resolve('incident-responder', {});
    expect(system).toMatch(/^You are an incident responder for the unknown service \(P2 severity\)\.\n/);
  });

  test('may be given in [agents.NAME] with a path', async () => {
    const personas = await personasOf('[agents.incident-responder]\npath = "ir.lua"');
    const { messages } = await personas.resolve('incident-responder', {});
    expect(messages[0]?.content).toContain("I've loaded 2 relevant runbooks");
  });

  test('can return tools for one use, read its environment, and log', async () => {
    const log = vi.fn();
    write(
      'x.lua',
      `agent = { description = "d", tools = { "a" }, arguments = { { name = "need", required = true } } }
       function agent.resolve(args, config, context)
         log.warn("hello")
         return { system = args.need .. tostring(env.get("LISTED")) .. tostring(env.get("OTHER")), tools = config.none and {} or { "b" } }
       end`,
    );
    const personas = await personasOf('[agents.script.x]\npath = "x.lua"\nenv = ["LISTED"]\nnone = false', { log });
    await expect(personas.resolve('x', { need: '1' })).resolves.toEqual({
      system: '1yesnil',
      tools: ['b'],
      messages: [],
    });
    expect(log).toHaveBeenCalledWith('warn', 'x: hello');
    await personasOf('[agents.script.x]\npath = "x.lua"\nnone = true').then((other) =>
      expect(other.resolve('x', { need: '1' })).resolves.toMatchObject({ tools: [] }),
    );
  });

  test.each([
    ['nobody', {}, 'not_found', 'There is no agent "nobody".'],
    ['x', {}, 'bad_request', 'Missing required argument "what" of x.'],
    ['x', { what: '' }, 'bad_request', 'Missing required argument'],
    ['x', { what: 'error' }, 'agent_error', 'on purpose'],
    ['x', { what: 'loop' }, 'timeout', 'timed out after 0.2 s'],
    ['x', { what: 'nothing' }, 'agent_error', 'x: resolve did not return a valid prompt: expected object'],
    ['x', { what: 'role' }, 'agent_error', 'x: resolve did not return a valid prompt: messages.0.role: '],
    ['gone', {}, 'agent_error', 'gone: '],
    ['broken', {}, 'agent_error', 'broken.lua:1: syntax error'],
    ['empty', {}, 'agent_error', 'does not define the function agent.resolve'],
  ])('%s with %j fails with %s', async (name, args, code, message) => {
    write(
      'x.lua',
      `agent = { arguments = { { name = "what", required = true } } }
       function agent.resolve(args)
         if args.what == "error" then error("on purpose") end
         if args.what == "loop" then while true do end end
         if args.what == "role" then return { system = "s", messages = { { role = "tool", content = "x" } } } end
       end`,
    );
    write('broken.lua', 'this is not Lua');
    write('empty.lua', 'agent = {}');
    // Only the endless loop gets a short limit, because everything may be slow on a busy machine.
    const timeout = 'what' in args && args.what === 'loop' ? 0.2 : 30;
    const personas = await personasOf(
      `[agents]\nscript.x = { path = "x.lua", timeout = ${timeout} }\ngone = { path = "gone.lua" }\nbroken = { path = "broken.lua" }\nempty = { path = "empty.lua" }`,
    );
    await expect(personas.resolve(name, args)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    expect(personas.list().map((one) => one.name)).toEqual(['x']);
    expect(personas.problems()).toHaveLength(3);
  });
});

describe('a module', () => {
  const core = join(import.meta.dirname, 'personas.ts');

  test('is loaded, resolved and limited in time', async () => {
    write(
      'db.ts',
      `import { definePersona } from ${JSON.stringify(core)};
       export default definePersona({
         name: 'db-expert',
         description: 'Answers database questions',
         tools: ['search', 'get', 'run_query'],
         arguments: [{ name: 'database', description: 'Target database name' }],
         async resolve({ database = 'main' }, context) {
           if (database === 'slow') await new Promise(() => {});
           if (database === 'bad') throw new Error('on purpose');
           const schemas = await context.search('payments', { mode: 'keyword', limit: 5, source: 'runbooks' });
           return { system: \`\${database}: \${schemas.map(({ title }) => title).join()}\` };
         },
       });`,
    );
    const configured = (timeout: number) => `[agents.module.db-expert]\npath = "db.ts"\ntimeout = ${timeout}`;
    const personas = await personasOf(configured(30));
    expect(personas.problems()).toEqual([]);
    expect(personas.list()).toEqual([
      {
        name: 'db-expert',
        description: 'Answers database questions',
        tools: ['search', 'get', 'run_query'],
        source: 'ts',
        arguments: [{ name: 'database', description: 'Target database name', required: false }],
      },
    ]);
    await expect(personas.resolve('db-expert', {})).resolves.toEqual({
      system: 'main: Payments outage',
      tools: ['search', 'get', 'run_query'],
      messages: [],
    });
    const hasty = await personasOf(configured(0.1));
    await expect(hasty.resolve('db-expert', { database: 'slow' })).rejects.toMatchObject({ code: 'timeout' });
    await expect(personas.resolve('db-expert', { database: 'bad' })).rejects.toMatchObject({
      code: 'agent_error',
      message: 'db-expert: on purpose',
    });
  });

  test('without a persona is reported as a problem', async () => {
    write('x.ts', 'export default 1;');
    const personas = await personasOf('[agents.module.x]\npath = "x.ts"');
    expect(personas.problems()).toEqual([expect.stringContaining('its default export must be a persona')]);
  });
});

describe('the registry', () => {
  test("includes the program's personas, and warns about unknown tools and duplicate names", async () => {
    const own = definePersona({
      name: 'own',
      description: 'o',
      resolve: () => ({ system: 's' }),
    });
    write('x.lua', 'agent = { name = "y" } function agent.resolve() end');
    const personas = await personasOf(
      '[agents.a]\ndescription = "d"\ntools = ["search", "nonsense"]\nsystem_prompt = "s"\n[agents.x]\npath = "x.lua"\n[agents.OWN]\npath = "x.lua"',
      { code: [own], knownTools: () => ['search'] },
    );
    expect(personas.list().map(({ name, source }) => `${name} ${source}`)).toEqual(['own ts', 'a toml', 'x lua']);
    expect(personas.problems()).toEqual([
      '[agents.OWN]: a built-in persona has that name.',
      'a: there is no tool "nonsense".',
      '[agents.x]: its file names it "y"; it is used as "x".',
    ]);
    await expect(personas.resolve('Own', {})).resolves.toEqual({ system: 's', tools: [], messages: [] });
  });

  test('continues when a change listener throws', async () => {
    const script = (text: string) => `agent = {} function agent.resolve() return { system = "${text}" } end`;
    write('x.lua', script('one'));
    const log = vi.fn();
    const personas = await personasOf('[agents.x]\npath = "x.lua"', { log });
    const heard = vi.fn();
    personas.onChange(() => {
      throw new Error('on purpose');
    });
    personas.onChange(heard);
    for (const text of ['two', 'three']) {
      write('x.lua', script(text));
      await personas.reload();
      expect(await personas.resolve('x', {})).toMatchObject({ system: text });
    }
    expect(heard).toHaveBeenCalledTimes(2);
    expect(log).toHaveBeenCalledWith('error', 'A change listener failed: on purpose');
  });

  test('reloads changed files, and keeps the last good version of a broken one', async () => {
    const script = (text: string) => `agent = {} function agent.resolve() return { system = "${text}" } end`;
    write('x.lua', script('one'));
    const PATIENCE = { timeout: 15_000 };
    const log = vi.fn();
    const personas = await personasOf('[agents.x]\npath = "x.lua"', { log });
    const changed = vi.fn();
    personas.onChange(changed);
    personas.watch();
    const settled = (system: string) =>
      vi.waitFor(async () => expect((await personas.resolve('x', {})).system).toBe(system), PATIENCE);
    await settled('one');
    write('x.lua', script('two'));
    await settled('two');
    write('x.lua', 'broken');
    await vi.waitFor(
      () => expect(personas.problems()).toEqual([expect.stringContaining('x.lua:1: syntax error')]),
      PATIENCE,
    );
    await settled('two');
    expect(log).toHaveBeenCalledWith('error', expect.stringContaining('x.lua:1: syntax error'));
    write('x.lua', script('three'));
    await settled('three');
    expect(personas.problems()).toEqual([]);
    write('substrat.toml', '[agents.x]\npth = "x.lua"');
    await vi.waitFor(
      () => expect(personas.problems()).toEqual([expect.stringContaining('unknown key "pth"')]),
      PATIENCE,
    );
    await settled('three');
    write('substrat.toml', '[agents.z]\ndescription = "d"\nsystem_prompt = "s"');
    await vi.waitFor(() => expect(personas.list().map(({ name }) => name)).toEqual(['z']), PATIENCE);
    expect(changed.mock.calls.length).toBeGreaterThanOrEqual(3);
  });
});
