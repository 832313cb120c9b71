import { expect, test } from 'vitest';
import { SubstratError } from '../core/errors.ts';
import { isUnavailable, openError, unavailable } from './postgres-errors.ts';

const failed = (code: string) => Object.assign(new Error('the reason'), { code });

test.each([
  ['55P03', 'Another session has held the lock of the store for too long; nothing was changed. Try again.'],
  ['53100', "The store's disk is full; nothing was changed. Free some space and try again."],
  ['57014', 'PostgreSQL cancelled a statement: the reason. Try again.'],
  ['40001', 'PostgreSQL cancelled a statement: the reason. Try again.'],
  ['40P01', 'PostgreSQL cancelled a statement: the reason. Try again.'],
  ['08006', 'PostgreSQL cannot be reached: the reason. Substrat reconnects by itself; try again.'],
  ['57P01', 'PostgreSQL cannot be reached: the reason. Substrat reconnects by itself; try again.'],
  ['25006', 'PostgreSQL cannot be reached: the reason. Substrat reconnects by itself; try again.'],
])('%s may succeed later, and the error says what to do', (code, message) => {
  expect(isUnavailable(failed(code))).toBe(true);
  const { code: own, message: said, cause } = unavailable(failed(code));
  expect([own, said, cause]).toEqual(['store', message, failed(code)]);
});

test.each(['23505', '42601', '22P02', '40002', 'P0801'])('%s would fail again', (code) => {
  expect(isUnavailable(failed(code))).toBe(false);
});

test('an error without a code, or of our own', () => {
  expect(isUnavailable(new Error('no'))).toBe(false);
  const own = new SubstratError('store', 'ours');
  expect(unavailable(own)).toBe(own);
  expect(unavailable(failed('')).message).toContain('the reason');
});

test('a store that cannot be opened says why', () => {
  const message = (reason: string) =>
    `PostgreSQL cannot be opened: ${reason}. Check [db] url and that the server is running.`;
  expect(openError(failed('28P01')).message).toBe(message('the reason'));
  expect(openError(Object.assign(new Error(''), { code: 'ECONNREFUSED' })).message).toBe(message('ECONNREFUSED'));
  expect(openError(unavailable(failed('08006'))).message).toBe(message('the reason'));
  const refused = new SubstratError('config', 'another version');
  expect(openError(refused)).toBe(refused);
});
