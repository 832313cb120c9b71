import { describe, expect, test } from 'vitest';
import type { Timer } from '../core/timer.ts';
import type { StoreKit } from './store.testkit.ts';
import type { Change } from './store.ts';

export function testTimers(kit: StoreKit): void {
  const { read, write } = kit;
  const set = (...timers: Timer[]) =>
    write(async (tx) => {
      for (const timer of timers) await tx.timers.setTimer(timer);
    });
  const next = (...except: string[]) => read((tx) => tx.timers.getNextTimer({ except }));
  const cancel = (kind: string, key: string) => write((tx) => tx.timers.tryCancelTimer({ kind, key }));
  /** Each in its turn, until none is left. */
  const takeAll = () =>
    write(async (tx) => {
      const taken: Timer[] = [];
      for (let timer = await tx.timers.getNextTimer({ except: [] }); timer; ) {
        taken.push(timer);
        await tx.timers.tryCancelTimer(timer);
        timer = await tx.timers.getNextTimer({ except: [] });
      }
      return taken;
    });

  describe('timers', () => {
    test('come by time, then by kind and key', async () => {
      const first = { kind: 'k', key: 'z', due: 10 };
      const [a, b] = [
        { kind: 'k', key: 'a', due: 20 },
        { kind: 'k', key: 'b', due: 20 },
      ];
      const other = { kind: 'j', key: 'c', due: 20 };
      expect(await next()).toBeNull();
      await set(b, a, other, first);
      expect(await next()).toEqual(first);
      expect(await takeAll()).toEqual([first, other, a, b]);
      expect(await next()).toBeNull();
    });

    test('of one kind and key are one: setting it again moves it', async () => {
      const moved = { kind: 'k', key: 'a', due: 2 ** 45 };
      const other = { kind: 'other', key: 'a', due: 6 };
      await set({ ...moved, due: 5 }, other);
      await set(moved);
      expect(await takeAll()).toEqual([other, moved]);
    });

    test('tryCancelTimer() removes one and returns whether there was one', async () => {
      const [a, b] = [
        { kind: 'k', key: 'b', due: 1 },
        { kind: 'j', key: 'a', due: 1 },
      ];
      await set({ kind: 'k', key: 'a', due: 1 }, a, b);
      expect([await cancel('k', 'a'), await cancel('k', 'a')]).toEqual([true, false]);
      expect(await takeAll()).toEqual([b, a]);
    });

    test('of kinds that are left out do not hide others', async () => {
      const strange = { kind: 'a "strange" \\kind', key: 'x', due: 1 };
      const known = { kind: 'k', key: 'x', due: 2 };
      await set(strange, known);
      expect(await next()).toEqual(strange);
      expect(await next(strange.kind)).toEqual(known);
      expect(await next(strange.kind, 'k')).toBeNull();
      await takeAll();
    });

    test('that are set are announced, so that the scheduler looks at them', async () => {
      const changes: Change[] = [];
      const stop = kit.store.onChange((change) => void changes.push(change));
      await set({ kind: 'k', key: 'a', due: 1 });
      stop();
      expect(changes.filter(({ runnable }) => runnable)).toHaveLength(1);
      await takeAll();
    });
  });
}
