import { expect, test } from 'vitest';
import { startDaemon } from '../../test/helpers/daemon.ts';
import { loadConfig } from '../config/config.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import { PROVIDER_NAMES } from '../providers/described.ts';
import type { Provider } from '../providers/provider.ts';
import { createProviders, pricesOf, pricingOf } from './providers.ts';

test('help and errors name every provider', () => {
  const config = loadConfig({ cwd: '/', home: '/nowhere', env: {} });
  expect([...createProviders(config, {}).keys(), EXTERNAL]).toEqual([...PROVIDER_NAMES]);
});

test("the prices of a model are its own, or the provider's for every model", () => {
  const table = '[providers.cursor-agent.prices]\ninput = 3\noutput = 15\n"gpt-5.1" = { input = 1, output = 8 }\n';
  const own = '[providers.scripted.prices]\nmine = { input = 2, output = 2 }\n';
  const config = loadConfig({ cwd: '/', home: '/nowhere', env: {}, file: 'x.toml', source: table + own });
  expect(pricesOf(config, 'cursor-agent', 'gpt-5.1')).toEqual({ input: 1, output: 8 });
  for (const model of [null, 'other', 'constructor'])
    expect(pricesOf(config, 'cursor-agent', model)).toEqual({ input: 3, output: 15 });
  expect(pricesOf(config, 'scripted', 'mine')).toEqual({ input: 2, output: 2 });
  expect(pricesOf(config, 'scripted', 'other')).toBeNull();
  expect(pricesOf(config, 'external', null)).toBeNull();
});

test('an assumed price is used only where no price is known, and 0 is a price', () => {
  const table = '[providers.cursor-agent]\nassume_price = { input = 5, output = 20 }\n';
  const known = '[providers.cursor-agent.prices]\n"gpt-5.1" = { input = 1, output = 8 }\n';
  const free = '[providers.codex]\nassume_price = { input = 0, output = 0 }\n';
  const config = loadConfig({ cwd: '/', home: '/nowhere', env: {}, file: 'x.toml', source: table + known + free });
  expect(pricesOf(config, 'cursor-agent', 'gpt-5.1')).toEqual({ input: 1, output: 8 });
  for (const model of [null, 'other'])
    expect(pricesOf(config, 'cursor-agent', model)).toEqual({ input: 5, output: 20 });
  expect(pricesOf(config, 'codex', null)).toEqual({ input: 0, output: 0 });
});

test('where costs come from: the program, dated prices, an assumption, or nowhere', () => {
  const source = `[providers.claude.prices]\ninput = 3\noutput = 15
[providers.codex]\nassume_price = { input = 5, output = 20 }
prices = { "gpt-5.1" = { input = 1, output = 8 }, as_of = "2026-11-01", source = "price list" }
[providers.qwen]\nassume_price = { input = 0, output = 0 }`;
  const config = loadConfig({ cwd: '/', home: '/nowhere', env: {}, file: 'x.toml', source });
  const none = { every: null, models: {}, assumed: null, source: null, asOf: null };
  expect(pricingOf(config, { name: 'claude', reportsCost: true })).toEqual({ ...none, kind: 'reported' });
  expect(pricingOf(config, { name: 'codex' })).toEqual({
    kind: 'configured',
    every: null,
    models: { 'gpt-5.1': { input: 1, output: 8 } },
    assumed: { input: 5, output: 20 },
    source: 'price list',
    asOf: '2026-11-01',
  });
  const free = { input: 0, output: 0 };
  expect(pricingOf(config, { name: 'qwen' })).toEqual({ ...none, kind: 'assumed', assumed: free });
  expect(pricingOf(config, { name: 'pi' })).toEqual({ ...none, kind: 'unknown' });
});

test("a provider in this process calls the tools of its agent's scope, and each call is recorded once", async () => {
  await using world = await startDaemon();
  const provider: Provider = {
    about: { name: 'in-process', settings: () => ({}) },
    async *runTurn({ tools }) {
      const bound = await tools();
      const remembered = await bound.find(({ name }) => name === 'store_memory')?.handler({ content: 'blue' });
      yield { type: 'done', text: `${bound.map(({ name }) => name).sort()}: ${remembered?.isError ?? 'stored'}` };
    },
  };
  (world.daemon.providers as Map<string, Provider>).set('in-process', provider);
  const lead = await world.client.createAgent({ name: 'lead', provider: EXTERNAL });
  const agent = await world.client.createAgent({ name: 'thinker', provider: 'in-process', parent: 'lead' });
  const tools = ['do_nothing', 'store_memory'];
  await world.daemon.store.write((tx) => tx.agents.setScope({ id: lead.id, tools }));
  const { messageId } = await world.client.sendMessage(agent.id, { text: 'Go.' });
  expect((await world.client.awaitReply(messageId, 15))?.text).toBe('do_nothing,store_memory: stored');
  const { items } = await world.client.listRuns({ agent: agent.id });
  const { messages } = await world.client.getRun(items[0]?.id ?? '');
  expect(messages.flatMap(({ tool }) => tool ?? [])).toEqual(['store_memory', 'store_memory']);
});
