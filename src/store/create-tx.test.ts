import { expect, test } from 'vitest';
import { createTx } from './create-tx.ts';

test('a part of a transaction is made when it is first used, and once', () => {
  const tx = createTx('sqlite', () => ({ rows: [], changes: 0 }), { seq: 0, events: 0, runnable: false });
  const isMade = (name: string) => Object.getOwnPropertyDescriptor(tx, name)?.get === undefined;
  expect(Object.keys(tx).filter(isMade)).toEqual([]);
  const { documents } = tx;
  expect(Object.keys(tx).filter(isMade)).toEqual(['documents']);
  expect(tx.documents).toBe(documents);
});
