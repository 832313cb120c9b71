import { expect, test } from 'vitest';
import { SubstratError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import { createBase } from './base.ts';

test.each([
  ['store', 503],
  ['outcome_unknown', 504],
] as const)('the error %s has the status %i', async (code, status) => {
  const log = { error: () => {} };
  const app = createBase({ store: null as unknown as Store, log }, { kind: 'trusted', hosts: () => [], token: '' });
  app.get('/failing', () => {
    throw new SubstratError(code, 'It failed.');
  });
  const answer = await app.request('/failing', {}, { incoming: { url: '/failing', headers: {} } });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({ error: { code, message: 'It failed.' } });
});
