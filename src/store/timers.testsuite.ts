import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Timer } from '../core/timer.ts';
import type { StoreKit } from './store.testkit.ts';
import type { Change } from './store.ts';

export function testTimers(kit: StoreKit): void {
  const { read, write } = kit;
  const set = (timers: readonly Timer[]) =>
    write(async (tx) => {
      for (const timer of timers) await tx.timers.setTimer(timer);
    });
  const listDue = (now: number, { except = [] as string[], limit = 100 } = {}) =>
    read((tx) => tx.timers.listDueTimers({ now, except, limit }));
  const next = (except: string[] = []) => read((tx) => tx.timers.getNextTimer({ except }));
  /** The tests share a database: each starts and ends without timers. */
  const clear = () =>
    write(async (tx) => {
      for (const timer of await tx.timers.listDueTimers({ now: Number.MAX_SAFE_INTEGER, except: [], limit: 1000 })) {
        await tx.timers.tryCancelTimer(timer);
      }
    });

  describe('timers', () => {
    test('are due from their time, ordered by time, kind and key', async () => {
      const a = { kind: 'k', key: 'a', due: 20 };
      const b = { kind: 'k', key: 'b', due: 20 };
      const c = { kind: 'j', key: 'c', due: 20 };
      const first = { kind: 'k', key: 'z', due: 10 };
      expect([await next(), await listDue(30)]).toEqual([null, []]);
      await set([b, a, c, first]);
      expect(await listDue(9)).toEqual([]);
      expect(await listDue(10)).toEqual([first]);
      expect(await listDue(20)).toEqual([first, c, a, b]);
      expect(await listDue(20, { limit: 2 })).toEqual([first, c]);
      expect(await next()).toEqual(first);
      await clear();
    });

    test('are unique by kind and key: setting one again moves it', async () => {
      const key = randomUUID();
      await set([{ kind: 'k', key, due: 5 }]);
      await set([{ kind: 'other', key, due: 6 }]);
      await set([{ kind: 'k', key, due: 2 ** 45 }]);
      expect(await next()).toEqual({ kind: 'other', key, due: 6 });
      expect(await listDue(2 ** 46)).toEqual([
        { kind: 'other', key, due: 6 },
        { kind: 'k', key, due: 2 ** 45 },
      ]);
      await clear();
    });

    test('tryCancelTimer() removes one and returns whether it existed', async () => {
      await set([
        { kind: 'k', key: 'a', due: 1 },
        { kind: 'k', key: 'b', due: 1 },
        { kind: 'j', key: 'a', due: 1 },
      ]);
      const cancel = () => write((tx) => tx.timers.tryCancelTimer({ kind: 'k', key: 'a' }));
      expect([await cancel(), await cancel()]).toEqual([true, false]);
      expect((await listDue(1)).map(({ kind, key }) => kind + key)).toEqual(['ja', 'kb']);
      await clear();
    });

    test('of excluded kinds do not block others', async () => {
      const strange = { kind: 'a "strange" \\kind', key: 'x', due: 1 };
      const known = { kind: 'k', key: 'x', due: 2 };
      await set([strange, known]);
      expect(await next()).toEqual(strange);
      expect(await next([strange.kind])).toEqual(known);
      expect(await next([strange.kind, 'k'])).toBeNull();
      expect(await listDue(2, { except: [strange.kind], limit: 1 })).toEqual([known]);
      await clear();
    });

    test('are announced when set, so that the scheduler checks them', async () => {
      const changes: Change[] = [];
      const stop = kit.store.onChange((change) => void changes.push(change));
      await set([{ kind: 'k', key: 'a', due: 1 }]);
      stop();
      expect(changes.map(({ runnable }) => runnable)).toEqual([true]);
      await clear();
    });
  });
}
