import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../store/open.ts';
import { dueTimers } from './due-timers.ts';

test('a timer of an unknown kind is logged once, stays in the store, and keeps no other from firing', async () => {
  const store = await openStore({ path: ':memory:' });
  onTestFinished(() => store.close());
  const fired: string[] = [];
  const logged: object[] = [];
  const due = dueTimers({
    handlers: new Map([['known', async (_, { key }) => void fired.push(key)]]),
    log: { warn: (details) => void logged.push(details) },
  });
  const strange = { kind: 'constructor', key: 'x', due: 1 };
  const later = { kind: 'later version', key: 'x', due: 3 };
  await store.write(async (tx) => {
    await tx.timers.setTimer(strange);
    await tx.timers.setTimer({ kind: 'known', key: 'a', due: 2 });
    await tx.timers.setTimer(later);
    await tx.timers.setTimer({ kind: 'known', key: 'b', due: 4 });
    await tx.timers.setTimer({ kind: 'known', key: 'c', due: 6 });
  });
  const next = () => store.read((tx) => due.next(tx, 0));
  expect(await next()).toBe(2);
  expect(await store.write((tx) => due.fire?.(tx, 5) ?? Promise.resolve(true))).toBe(false);
  expect(fired).toEqual(['a', 'b']);
  expect([await next(), await next()]).toEqual([6, 6]);
  expect(logged).toEqual([{ kind: 'constructor' }, { kind: 'later version' }]);
  expect(await store.read((tx) => tx.timers.getNextTimer({ except: [] }))).toEqual(strange);
  expect(await store.read((tx) => tx.timers.getNextTimer({ except: ['constructor'] }))).toEqual(later);
});
