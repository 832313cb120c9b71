import { afterAll, describe } from 'vitest';

// Read when a test creates a world; this file has its own process.
process.env.SUBSTRAT_TEST_WRITES = 'twice';
afterAll(() => {
  delete process.env.SUBSTRAT_TEST_WRITES;
});

describe('with every write executed twice, the first time rolled back', async () => {
  await import('./rules/attempts.test.ts');
  await import('./rules/channels.test.ts');
  await import('./rules/endings.test.ts');
  await import('./rules/external.test.ts');
  await import('./rules/news.test.ts');
  await import('./rules/requests.test.ts');
  await import('./rules/tree.test.ts');
});
