import { expect, test } from 'vitest';
import type { ProviderEvent } from '../../src/providers/provider.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

/** The records of a turn, after its prompt. */
async function recordOf(behave: (turn: WorldTurn, commits: () => number) => Promise<void>) {
  const world = await createWorld();
  const { id } = await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    runId = turn.runId;
    await behave(turn, () => world.store.commits());
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  const records = await world.store.read((tx) => tx.records.listRecords({ runId }));
  const usage = await world.store.read((tx) => tx.runs.getUsage({ agentId: id }));
  return { entries: records.slice(2).map(({ type, tool, content }) => [type, tool ?? content]), usage };
}

const report = (name: string, more: object): ProviderEvent[] => [
  { type: 'tool_call', id: 'call-1', name, arguments: {}, ...more },
  { type: 'tool_result', id: 'call-1', result: 'ok', isError: false, ...more },
];

test.each(['mcp__substrat__list_agents', 'substrat:list_agents'])(
  'a call of our tool is recorded once, although the program reports it as %s, before and after it',
  async (name) => {
    const [call, result] = report(name, { ours: true }) as [ProviderEvent, ProviderEvent];
    const { entries } = await recordOf(async (turn) => {
      await turn.tell(call);
      await turn.call('list_agents');
      await turn.tell(call);
      await turn.tell(result);
    });
    expect(entries).toEqual([
      ['tool_call_message', 'list_agents'],
      ['tool_return_message', 'list_agents'],
    ]);
  },
);

test("the report is the record of a program's own tools, and of a rejected call of ours", async () => {
  const { entries } = await recordOf(async (turn) => {
    for (const event of [...report('shell', {}), ...report('substrat:list_agents', {})]) await turn.tell(event);
  });
  expect(entries).toEqual([
    ['tool_call_message', 'shell'],
    ['tool_return_message', 'ok'],
    ['tool_call_message', 'substrat:list_agents'],
    ['tool_return_message', 'ok'],
  ]);
});

test('a provider in this process calls bound tools, which record themselves, for the agent of the turn', async () => {
  const results: unknown[] = [];
  const { entries } = await recordOf(async (turn) => {
    const tools = new Map((await turn.tools()).map((tool) => [tool.name, tool]));
    results.push(await tools.get('spawn_agent')?.handler({ name: 'child', instructions: 'Answer.' }));
    results.push(await tools.get('list_agents')?.handler({}));
  });
  expect(results[1]).toMatchObject({ structuredContent: { agents: [{ name: 'child', relation: 'child' }] } });
  expect(entries.map(([, tool]) => tool)).toEqual(['spawn_agent', 'spawn_agent', 'list_agents', 'list_agents']);
});

test('deltas are not stored, the text is', async () => {
  let written = 0;
  const { entries } = await recordOf(async (turn, commits) => {
    const before = commits();
    for (const text of ['Hel', 'lo', '.']) await turn.tell({ type: 'delta', text });
    written = commits() - before;
    await turn.tell({ type: 'text', text: 'Hello.' });
  });
  expect(written).toBe(0);
  expect(entries).toEqual([['assistant_message', 'Hello.']]);
});

test('usage costs what its model costs, unless the provider reports a cost', async () => {
  const million = { type: 'usage', inputTokens: 1_000_000, outputTokens: 1_000_000 } as const;
  const { usage } = await recordOf(async (turn) => {
    await turn.tell(million);
    await turn.tell({ ...million, model: 'dear' });
    await turn.tell({ ...million, model: 'dear', costUsd: 100 });
  });
  expect(usage?.costUsd).toBe(3 + 30 + 100);
});
