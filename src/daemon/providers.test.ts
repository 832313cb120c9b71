import { expect, test } from 'vitest';
import { loadConfig } from '../config/config.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import { PROVIDER_NAMES } from '../providers/described.ts';
import { createProviders, pricesOf } from './providers.ts';

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
