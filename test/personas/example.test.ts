import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectAgent } from '../helpers/mcp.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = join(ROOT, 'examples/knowledge');
const run = promisify(execFile);

let home: string;
let env: NodeJS.ProcessEnv;
const tickets = spawn(process.execPath, [join(EXAMPLE, 'tickets.ts'), '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'substrat-example-'));
  const [line] = await once(tickets.stdout, 'data');
  const [address] = /127\.0\.0\.1:\d+/.exec(String(line)) ?? [];
  env = { ...process.env, SUBSTRAT_HOME: home, TICKETS: address };
  await ctx('sync');
});
afterAll(async () => {
  tickets.kill();
  await once(tickets, 'exit');
  rmSync(home, { recursive: true });
});

async function ctx(...args: string[]): Promise<string> {
  const config = ['--config', join(EXAMPLE, 'substrat.toml')];
  return (await run(join(ROOT, 'bin/ctx'), [...args, ...config], { env })).stdout;
}

describe('examples/knowledge', () => {
  test.each([
    ['code-reviewer', 'area=money', 'Money is a whole number of cents'],
    ['architect', 'topic=database', 'Orders, payments and refunds are in one PostgreSQL database'],
    ['onboarding', 'role=engineer', 'Day one'],
    ['incident-responder', 'service=checkout', 'Look at the queue of orders'],
    ['writer', 'topic=flags', 'Short sentences'],
  ])('%s finds its documents', async (name, arg, text) => {
    const { result } = JSON.parse(await ctx('agent', 'test', name, '--arg', arg, '--json'));
    expect(result.system).toContain(text);
    expect(result.tools).toEqual(expect.arrayContaining(['search', 'get']));
  });

  test('the tool creates a ticket', async () => {
    const call = ['tool', 'test', 'create_jira_ticket', '--param', 'title=Checkout is slow', '--json'];
    const { result } = JSON.parse(await ctx(...call));
    expect(result).toMatchObject({ key: 'OPS-1', related: expect.any(Number) });
    expect(await (await fetch(result.url)).json()).toMatchObject({ title: 'Checkout is slow', priority: 'P2' });
  });

  test('the daemon serves it, and an agent created from its persona creates a ticket', async () => {
    const daemon = await startDaemonProcess({
      home,
      config: join(EXAMPLE, 'substrat.toml'),
      env: { TICKETS: String(env.TICKETS), BIND: '127.0.0.1:0' },
    });
    const persona = ['--persona', 'incident-responder', '--arg', 'service=checkout'];
    const made = await runSubstrat(['agent', 'create', 'sre', '--provider', 'external', ...persona, '--json'], {
      home,
    });
    const { id: agentId, tools } = JSON.parse(made.stdout);
    expect(tools).toEqual(expect.arrayContaining(['search', 'get', 'create_jira_ticket']));
    const sre = await connectAgent({ home, agentId });
    expect(sre.client.getInstructions()).toContain('Look at the queue of orders');
    expect((await sre.client.listTools()).tools.map(({ name }) => name)).toEqual([
      'search',
      'get',
      'create_jira_ticket',
    ]);
    const { value } = await sre.call('search', { query: 'queue of orders' });
    expect(value.results).not.toEqual([]);
    const ticket = await sre.call('create_jira_ticket', { title: 'The queue is full', priority: 'P1' });
    const { url } = ticket.value.result as { url: string };
    expect(await (await fetch(url)).json()).toMatchObject({ title: 'The queue is full', priority: 'P1' });
    await expect(sre.client.callTool({ name: 'spawn_agent', arguments: {} })).rejects.toMatchObject({ code: -32602 });
    await sre.close();

    const status = await daemon.client.getStatus();
    const client = new Client({ name: 'test', version: '1' });
    const headers = { authorization: `Bearer ${readFileSync(join(home, 'token'), 'utf8').trim()}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${status.url}/mcp`), { requestInit: { headers } }));
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name).sort()).toEqual([
      'architect',
      'code-reviewer',
      'incident-responder',
      'onboarding',
      'writer',
    ]);
    const prompt = await client.getPrompt({ name: 'architect', arguments: { topic: 'database' } });
    expect(JSON.stringify(prompt.messages)).toContain('Orders, payments and refunds are in one PostgreSQL database');
    await client.close();
    expect(await daemon.stop()).toBe(0);
  });

  test('the library program runs', async () => {
    const { stdout } = await run(process.execPath, [join(EXAMPLE, 'own.ts')], { env });
    expect(stdout).toMatch(
      /^schemas: 1 indexed\nYou are a database expert for the 'shop' database\.\nRelevant schema docs:\n- orders \(score: \d\.\d\d\)\n/,
    );
    expect(stdout).toContain('{"rows":[],"statement":"select 1"}\ndb-expert, code-reviewer, ');
  });
});
