import { expect, test } from 'vitest';
import { loadConfig } from '../config/config.ts';
import { EXTERNAL, PROVIDER_NAMES } from '../core/provider-names.ts';
import { createProviders } from './providers.ts';

test('help and errors name every provider', () => {
  const config = loadConfig({ cwd: '/', home: '/nowhere', env: {} });
  expect([...createProviders(config, {}).keys(), EXTERNAL]).toEqual([...PROVIDER_NAMES]);
});
