import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { addAgent, queueRun, type StoreKit } from './store.testkit.ts';
import type { Change, Store, Tx } from './store.ts';

export function testCommits(kit: StoreKit): void {
  const { read, write, openAnother, shared } = kit;
  const append = (tx: Tx, name: string) =>
    tx.events.appendEvent({ type: 'agent_terminated', at: 1, data: { agentId: 'a', reason: name } });
  /** On PostgreSQL writers run at the same time, each with its own commit. */
  const serial = () => kit.store.engine === 'sqlite';
  const inOrder = (names: readonly string[]) => (serial() ? names : names.toSorted());
  const lastEvent = () => read((tx) => tx.events.getEventCounter());
  /** The events after that number; their numbers must have no gaps. */
  const namesAfter = async (after: number, store: Pick<Store, 'read'> = kit) => {
    const events = await store.read((tx) => tx.events.listEvents({ after, limit: 10_000 }));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => after + 1 + i));
    return events.map(({ data }) => (data as { reason: string }).reason);
  };
  /** A writer that appends and then waits to be released. */
  const holdWrite = () => {
    const [inside, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const done = write(async (tx) => {
      await append(tx, 'held');
      inside.resolve();
      await gate.promise;
    });
    return { inside: inside.promise, letGo: gate.resolve, done };
  };

  describe('a commit', () => {
    test('is shared by writers that arrive together, where writers are serial', async () => {
      const [before, commits] = [await lastEvent(), kit.store.commits()];
      const names = Array.from({ length: 50 }, (_, i) => `w${i}`);
      await Promise.all(names.map((name) => write((tx) => append(tx, name))));
      expect(kit.store.commits() - commits).toBe(serial() ? 1 : names.length);
      expect(inOrder(await namesAfter(before))).toEqual(inOrder(names));
    });

    test('holds the lock only for a part of a long queue', async () => {
      const commits = kit.store.commits();
      await Promise.all(Array.from({ length: 300 }, () => write((tx) => append(tx, 'many'))));
      expect(kit.store.commits() - commits).toBe(serial() ? 2 : 300);
    });

    test('loses only the writer that throws', async () => {
      const before = await lastEvent();
      const agents = new Map<string, string>();
      const writer = (name: string) =>
        write(async (tx) => {
          agents.set(name, (await addAgent(tx)).id);
          await append(tx, name);
          if (name.startsWith('bad')) throw new RangeError(name);
          return name;
        });
      const outcomes = await Promise.allSettled(['good1', 'bad1', 'good2', 'bad2', 'good3'].map(writer));
      expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
        'good1',
        new RangeError('bad1'),
        'good2',
        new RangeError('bad2'),
        'good3',
      ]);
      expect(inOrder(await namesAfter(before))).toEqual(['good1', 'good2', 'good3']);
      const kept: boolean[] = [];
      for (const name of ['good1', 'bad1', 'good2', 'bad2', 'good3']) {
        const id = agents.get(name) as string;
        kept.push((await read((tx) => tx.agents.getAgent({ id }))) !== null);
      }
      expect(kept).toEqual([true, false, true, false, true]);
    });

    test('of serial writers executes them again when one fails, and apart from each other for a while', async () => {
      if (!serial()) return;
      const executed: string[] = [];
      const round = async (names: readonly string[]) => {
        executed.length = 0;
        const before = await lastEvent();
        const writer = (name: string) =>
          write(async (tx) => {
            executed.push(name);
            await append(tx, name);
            if (name === 'bad') throw new RangeError(name);
          });
        await Promise.allSettled(names.map(writer));
        expect(await namesAfter(before)).toEqual(names.filter((name) => name !== 'bad'));
        return executed.join(' ');
      };
      // Whatever failed before is forgotten after some batches.
      for (let n = 0; n < 20; n += 1) await round(['a', 'b']);
      expect(await round(['a', 'b', 'c'])).toBe('a b c');
      expect(await round(['a', 'bad', 'c'])).toBe('a bad a bad c');
      expect(await round(['a', 'bad', 'c'])).toBe('a bad c');
      for (let n = 0; n < 20; n += 1) await round(['a', 'b']);
      expect(await round(['a', 'bad', 'c'])).toBe('a bad a bad c');
    });

    test('of another store is seen by the next writer', async () => {
      const { id } = await write((tx) => addAgent(tx));
      const other = await openAnother();
      const pausedFor = (store: Pick<Store, 'write'>) =>
        store.write(async (tx) => (await tx.agents.getAgent({ id }))?.pausedAt ?? null);
      expect([await pausedFor(kit), await pausedFor(kit)]).toEqual([null, null]);
      if (shared) await other.write((tx) => tx.agents.setPaused({ id, at: 7, reason: null }));
      expect(await pausedFor(kit)).toBe(shared ? 7 : null);
      await write((tx) => tx.agents.setPaused({ id, at: 8, reason: null }));
      expect(await pausedFor(kit)).toBe(8);
    });

    test('loses only the writer that violates a constraint', async () => {
      const before = await lastEvent();
      const breaking = write(async (tx) => {
        await append(tx, 'broken');
        await tx.deliveries.insertDelivery({
          messageId: 'none',
          agentId: 'nobody',
          kind: 'news',
          round: 'free',
        });
      });
      const outcomes = await Promise.allSettled([
        write((tx) => append(tx, 'one')),
        breaking,
        write((tx) => append(tx, 'two')),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      await expect(breaking).rejects.toSatisfy(isForeignKey);
      expect(inOrder(await namesAfter(before))).toEqual(['one', 'two']);
    });

    test('of a writer that fails alone leaves nothing, and the next one works', async () => {
      const before = await lastEvent();
      const failing = write(async (tx) => {
        await append(tx, 'gone');
        await tx.channels.tryJoinChannel({ channelId: 'none', participantId: 'user' });
      });
      await expect(failing).rejects.toSatisfy(isForeignKey);
      await write((tx) => append(tx, 'next'));
      expect(await namesAfter(before)).toEqual(['next']);
    });

    test("is durable before a writer's promise resolves", async () => {
      const other = await openAnother();
      const before = await lastEvent();
      const seen = await Promise.all(
        ['a', 'b', 'c'].map((name) =>
          write((tx) => append(tx, name)).then(async () => (await namesAfter(before, other)).includes(name)),
        ),
      );
      expect(seen).toEqual([true, true, true]);
    });

    test('of serial writers resolves none and shows nothing before the last one has finished', async () => {
      const other = await openAnother();
      const before = await lastEvent();
      if (!serial()) return;
      let answered = false;
      const first = write((tx) => append(tx, 'first')).then(() => {
        answered = true;
      });
      const { inside, letGo, done } = holdWrite();
      await inside;
      const reading = namesAfter(before);
      if (shared) {
        expect(await reading).toEqual([]);
        expect(await namesAfter(before, other)).toEqual([]);
      } else await setImmediate();
      expect(answered).toBe(false);
      letGo();
      await Promise.all([first, done]);
      expect(await namesAfter(before)).toEqual(['first', 'held']);
      // In memory a read waits for the batch.
      expect(await reading).toEqual(shared ? [] : ['first', 'held']);
    });

    test('is announced to listeners with the last number, after it happened', async () => {
      const before = await lastEvent();
      const heard: Promise<string[]>[] = [];
      const changes: Change[] = [];
      const stop = kit.store.onChange((change) => {
        changes.push(change);
        heard.push(namesAfter(before));
      });
      await Promise.all([write((tx) => append(tx, 'a')), write((tx) => append(tx, 'b'))]);
      await write(async (tx) => {
        await append(tx, 'c');
        throw new Error('not this one');
      }).catch(() => {});
      await write((tx) => tx.events.getEventCounter());
      // On PostgreSQL events get their numbers shortly after the commit.
      await expect.poll(() => changes.at(-1)?.seq).toBe(before + 2);
      stop();
      await write((tx) => append(tx, 'd'));
      expect(changes.some(({ runnable }) => runnable)).toBe(false);
      if (serial()) expect(changes).toEqual([{ seq: before + 2, runnable: false }]);
      expect(inOrder((await heard.at(-1))?.slice(0, 2) ?? [])).toEqual(['a', 'b']);
    });

    test('does not announce the runs of a failed writer', async () => {
      const changes: Change[] = [];
      const stop = kit.store.onChange((change) => changes.push(change));
      const failing = write(async (tx) => {
        await queueRun(tx, await addAgent(tx));
        throw new Error('no');
      }).catch(() => {});
      await Promise.all([failing, write((tx) => append(tx, 'quiet'))]);
      stop();
      expect(changes.some(({ runnable }) => runnable)).toBe(false);
    });
  });

  test('events are numbered without gaps in commit order, with any writers and failures', async () => {
    const other = await openAnother();
    const before = await lastEvent();
    const kept: string[] = [];
    const writeSome = async (store: Pick<Store, 'write'>, who: string) => {
      for (let round = 0; round < 6; round++) {
        const together = Array.from({ length: 1 + (round % 3) * 4 }, async (_, i) => {
          const name = `${who}${round}.${i}`;
          const fails = (round + i) % 4 === 3;
          const number = store.write(async (tx) => {
            await append(tx, `${name}a`);
            await append(tx, `${name}b`);
            if (fails) throw new Error('fails');
          });
          if (fails) return expect(number).rejects.toThrow('fails');
          await number;
          kept.push(`${name}a`, `${name}b`);
        });
        await Promise.all(together);
      }
    };
    let writing = true;
    const watching = (async () => {
      let seen: string[] = [];
      while (writing) {
        const now = await namesAfter(before, other);
        expect(now.slice(0, seen.length)).toEqual(seen);
        seen = now;
        await setImmediate();
      }
    })();
    await Promise.all([writeSome(kit, 'a'), writeSome(kit, 'b'), writeSome(other, 'c'), writeSome(other, 'd')]);
    writing = false;
    await watching;
    const names = await namesAfter(before);
    expect(names.toSorted()).toEqual(kept.toSorted());
    expect(await lastEvent()).toBe(before + names.length);
    for (let i = 0; i < names.length; i += 2) expect(names[i + 1]).toBe(names[i]?.replace(/a$/, 'b'));
  });

  test('listEvents() returns events in pages', async () => {
    const before = await lastEvent();
    const data = { channelId: 'c', topic: 'Ü', by: 'user' };
    const event = { type: 'channel_updated', at: 4, agentId: 'a', channelId: 'c', data } as const;
    await write(async (tx) => {
      await tx.events.appendEvent(event);
      await append(tx, 'more');
    });
    expect(await read((tx) => tx.events.listEvents({ after: before, limit: 1 }))).toEqual([
      { seq: before + 1, ...event },
    ]);
  });
}

/** PostgreSQL's writers say that something was deleted meanwhile; the server's error is the cause. */
function isForeignKey(error: Error): boolean {
  return /foreign key/i.test(`${error.message} ${(error.cause as Error | undefined)?.message}`);
}
