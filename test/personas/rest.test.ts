import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { callRest } from '../helpers/rest.ts';

const CTX = join(import.meta.dirname, '../../bin/ctx');
const SCRIPT = join(import.meta.dirname, '../../examples/knowledge/agents/incident-responder.lua');

const config = `
[connectors.filesystem.runbooks]
root = "runbooks"
[agents.code-reviewer]
description = "Reviews code changes against project conventions"
tools = ["search", "get"]
system_prompt = "You review."
[agents.script.incident-responder]
path = "agents/incident-responder.lua"
timeout = 30
search_limit = 5
[agents.script.bad]
path = "agents/bad.lua"
[agents.script.endless]
path = "agents/endless.lua"
timeout = 0.3
`;

let world: TestDaemon;
beforeAll(async () => {
  world = await startDaemon({ config });
  for (const folder of ['agents', 'runbooks']) mkdirSync(join(world.directory, folder), { recursive: true });
  for (const n of [1, 2, 3]) {
    writeFileSync(
      join(world.directory, `runbooks/${n}.md`),
      `# Runbook ${n}\n\nAn incident of payments-api, step ${n}.\n`,
    );
  }
  const bad = (body: string) =>
    `agent = { description = "Bad", arguments = { { name = "how", description = "How bad", required = true } } }
     function agent.resolve(args) ${body} end`;
  writeFileSync(join(world.directory, 'agents/bad.lua'), bad('error("on purpose")'));
  writeFileSync(join(world.directory, 'agents/endless.lua'), bad('while true do end'));
  copyFileSync(SCRIPT, join(world.directory, 'agents/incident-responder.lua'));
  const env = { ...process.env, SUBSTRAT_HOME: world.home };
  await promisify(execFile)(CTX, ['sync', '--config', join(world.directory, 'substrat.toml')], { env });
  // The files were written after the daemon had read the configuration; it watches them.
  await (await world.daemon.extensions.open()).personas.reload();
});
afterAll(() => world.stop());

const get = (path: string) => callRest(world.home, { path });
const post = (path: string, body: object | string) => callRest(world.home, { path, body });

const responderArguments = [
  { name: 'service', description: 'The service experiencing the incident', required: false },
  { name: 'severity', description: 'Incident severity (P1, P2, P3)', required: false },
];
const greeting =
  "I'm ready to help with the P1 payments-api incident. I've loaded 3 relevant runbooks. What's the current situation?";
const system = expect.stringMatching(/^You are an incident responder for the payments-api service \(P1 severity\)/);

describe('personas over REST', () => {
  test('GET /agents/list', async () => {
    expect(await get('/agents/list')).toEqual({
      status: 200,
      body: {
        agents: [
          {
            name: 'code-reviewer',
            description: 'Reviews code changes against project conventions',
            tools: ['search', 'get'],
            source: 'toml',
            arguments: [],
          },
          {
            name: 'incident-responder',
            description: 'Helps triage production incidents with relevant runbooks',
            tools: ['search', 'get', 'create_jira_ticket'],
            source: 'lua',
            arguments: responderArguments,
          },
          expect.objectContaining({ name: 'bad' }),
          expect.objectContaining({ name: 'endless' }),
        ],
      },
    });
  });

  test('POST /agents/{name}/prompt', async () => {
    const body = { arguments: { service: 'payments-api', severity: 'P1' } };
    expect(await post('/agents/incident-responder/prompt', body)).toEqual({
      status: 200,
      body: {
        result: {
          system,
          tools: ['search', 'get', 'create_jira_ticket'],
          messages: [{ role: 'assistant', content: greeting }],
        },
      },
    });
    expect(await post('/agents/code-reviewer/prompt', {})).toMatchObject({ status: 200 });
  });

  test.each([
    ['nobody', {}, 404, 'not_found'],
    ['bad', {}, 400, 'bad_request'],
    ['bad', { how: 'very' }, 500, 'agent_error'],
    ['endless', { how: 'very' }, 408, 'timeout'],
  ])('POST /agents/%s/prompt with %j returns %i %s', async (name, args, status, code) => {
    expect(await post(`/agents/${name}/prompt`, { arguments: args })).toMatchObject({
      status,
      body: { error: { code } },
    });
  });

  test.each([[{ arguments: [] }], [{ arguments: 1 }], [{ args: {} }]])('a body of %j is refused', async (body) => {
    expect(await post('/agents/bad/prompt', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request' } },
    });
  });

  test.each([65, 5_000, 100_000])('an argument nested %i deep is refused', async (depth) => {
    const args = `{"how":"very","deep":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const refused = { status: 400, body: { error: { code: 'bad_request' } } };
    expect(await post('/agents/bad/prompt', `{"arguments":${args}}`)).toMatchObject(refused);
    expect(await post('/prompts/get', `{"name":"bad","arguments":${args}}`)).toMatchObject(refused);
    expect(await post('/agents/bad/prompt', { arguments: { how: 'very' } })).toMatchObject({ status: 500 });
  });

  test('a post without a body has no arguments', async () => {
    expect(await callRest(world.home, { method: 'POST', path: '/agents/code-reviewer/prompt' })).toMatchObject({
      status: 200,
      body: { result: { system: 'You review.' } },
    });
  });

  test('GET /prompts/list', async () => {
    const { body } = await get('/prompts/list');
    expect((body.prompts as object[]).slice(0, 2)).toEqual([
      { name: 'code-reviewer', description: 'Reviews code changes against project conventions', arguments: [] },
      {
        name: 'incident-responder',
        description: 'Helps triage production incidents with relevant runbooks',
        arguments: responderArguments,
      },
    ]);
  });

  test('POST /prompts/get', async () => {
    const wish = { name: 'incident-responder', arguments: { service: 'payments-api', severity: 'P1' } };
    expect(await post('/prompts/get', wish)).toEqual({
      status: 200,
      body: {
        description: 'Helps triage production incidents with relevant runbooks',
        messages: [
          { role: 'system', content: { type: 'text', text: system } },
          { role: 'assistant', content: { type: 'text', text: greeting } },
        ],
      },
    });
    expect(await post('/prompts/get', { name: 'nobody' })).toMatchObject({ status: 404 });
  });
});
