import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

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
  ])('%s knows what its documents say', async (name, arg, text) => {
    const { result } = JSON.parse(await ctx('agent', 'test', name, '--arg', arg, '--json'));
    expect(result.system).toContain(text);
    expect(result.tools).toEqual(expect.arrayContaining(['search', 'get']));
  });

  test('the tool makes a ticket', async () => {
    const call = ['tool', 'test', 'create_jira_ticket', '--param', 'title=Checkout is slow', '--json'];
    const { result } = JSON.parse(await ctx(...call));
    expect(result).toMatchObject({ key: 'OPS-1', related: expect.any(Number) });
    expect(await (await fetch(result.url)).json()).toMatchObject({ title: 'Checkout is slow', priority: 'P2' });
  });

  test('the program of one’s own runs', async () => {
    const { stdout } = await run(process.execPath, [join(EXAMPLE, 'own.ts')], { env });
    expect(stdout).toMatch(
      /^schemas: 1 indexed\nYou are a database expert for the 'shop' database\.\nRelevant schema docs:\n- orders \(score: \d\.\d\d\)\n/,
    );
    expect(stdout).toContain('{"rows":[],"statement":"select 1"}\ndb-expert, code-reviewer, ');
  });
});
