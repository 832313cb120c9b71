import { expect, test } from 'vitest';
import { explainConfig } from './explain.ts';

const explain = (source: string) =>
  explainConfig({ file: '/x.toml', cwd: '/', home: '/home', env: {}, source }).settings.filter(({ key }) =>
    key.startsWith('providers.'),
  );

test('a provider without a table has no settings; with a table it has all of them, with secrets hidden', () => {
  expect(explain('')).toEqual([]);
  const settings = explain('[providers.cursor-agent]\nforce = true\nenv = { KEY = "secret" }\n');
  expect(settings.map(({ key }) => key.replace('providers.cursor-agent.', ''))).toEqual(
    expect.arrayContaining(['slots', 'command', 'args', 'force']),
  );
  expect(settings).toContainEqual({ key: 'providers.cursor-agent.force', value: true, origin: 'x.toml:2' });
  expect(JSON.stringify(settings)).not.toContain('secret"');
});

test('the price of a model is listed where it is written', () => {
  const [price] = explain('[providers.scripted]\nprices = { "m.1" = { input = 1, output = 2 } }\n').filter(({ key }) =>
    key.endsWith('m.1'),
  );
  expect(price).toEqual({ key: 'providers.scripted.prices.m.1', value: { input: 1, output: 2 }, origin: 'x.toml:2' });
});
