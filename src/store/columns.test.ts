import { expect, test } from 'vitest';
import { encode, recordsOf, snakeCase } from './columns.ts';

test('decodes a row to a record: camelCase names, booleans, lists and objects', () => {
  const row = { agent_id: 'a', ready: 1, late: 0, tools: '["x"]', persona_args: null, created_at: 7, text: '[1]' };
  expect(recordsOf([row])).toEqual([
    { agentId: 'a', ready: true, late: false, tools: ['x'], personaArgs: null, createdAt: 7, text: '[1]' },
  ]);
});

test('encodes parameters for both engines', () => {
  const bytes = Buffer.from([1]);
  expect([true, false, ['x'], { a: 1 }, null, 'text', 1, bytes].map(encode)).toEqual([
    1,
    0,
    '["x"]',
    '{"a":1}',
    null,
    'text',
    1,
    bytes,
  ]);
});

test('a camelCase name maps to its snake_case column', () => {
  expect(['agentId', 'recordsAtDeath', 'id'].map(snakeCase)).toEqual(['agent_id', 'records_at_death', 'id']);
});
