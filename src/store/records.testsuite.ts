import { describe, expect, test } from 'vitest';
import type { Run } from '../core/run.ts';
import { addAgent, endRun, queueRun, type StoreKit } from './store.testkit.ts';

export function testRecords({ read, write }: StoreKit): void {
  describe('the record of a run', () => {
    const record = (run: Run, change: object = {}) => ({
      runId: run.id,
      step: 1,
      attempt: 1,
      type: 'assistant_message' as const,
      tool: null,
      callId: null,
      callKey: null,
      content: '""',
      isError: false,
      effect: false,
      createdAt: 1,
      ...change,
    });
    const uncounted = { sections: null, inputTokens: null, outputTokens: null, costUsd: null };

    test('is numbered in order', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      await write(async (tx) => {
        for (const content of ['"a"', '"b"', '"c"']) await tx.records.insertRecord(record(run, { content }));
      });
      const rows = await read((tx) => tx.records.listRecords({ runId: run.id }));
      expect(rows).toEqual(
        ['"a"', '"b"', '"c"'].map((content, i) => ({ ...uncounted, ...record(run, { content }), n: i + 1 })),
      );
      const listFrom = (n: number) => read((tx) => tx.records.listRecordsAfter({ runId: run.id, after: n, limit: 1 }));
      expect([await listFrom(0), await listFrom(2), await listFrom(3)]).toEqual([[rows[0]], [rows[2]], []]);
    });

    test('has the sections of a prompt and what was used', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      const noted = {
        sections: [{ name: 'identity', length: 3 }],
        inputTokens: 2 ** 40,
        outputTokens: 1,
        costUsd: 0.5,
      };
      await write((tx) => tx.records.insertRecord(record(run, noted)));
      expect(await read((tx) => tx.records.getLastRecord({ runId: run.id }))).toMatchObject(noted);
    });

    test('returns the effects of identical calls in order', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      const add = (callKey: string, content: string, effect: number) =>
        write((tx) => tx.records.insertRecord(record(run, { type: 'tool_return_message', callKey, content, effect })));
      await add('k', '1', 1);
      await add('k', '2', 0);
      await add('other', '3', 1);
      await add('k', '4', 1);
      const effects = await read((tx) => tx.records.listEffects({ runId: run.id, callKey: 'k' }));
      expect(effects.map(({ content }) => content)).toEqual(['1', '4']);
    });

    test('counts the identical calls of one attempt, each once', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      const add = (type: string, callId: string, change: object = {}) =>
        write((tx) => tx.records.insertRecord(record(run, { type, callId, callKey: 'k', attempt: 2, ...change })));
      await add('tool_call_message', 'started and ended');
      await add('tool_return_message', 'started and ended', { effect: true });
      await add('tool_call_message', 'started');
      await add('tool_return_message', 'repeated');
      await add('tool_return_message', 'of another attempt', { attempt: 1 });
      await add('tool_return_message', 'of another key', { callKey: 'other' });
      await add('tool_return_message', 'failed', { callKey: null });
      const counted = await read((tx) => tx.records.countCalls({ runId: run.id, callKey: 'k', attempt: 2 }));
      expect(Number(counted)).toBe(3);
    });

    test('counts the entries of one attempt', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      for (const attempt of [1, 2, 2]) await write((tx) => tx.records.insertRecord(record(run, { attempt })));
      const counted = await read((tx) => tx.records.countRecords({ runId: run.id, attempt: 2 }));
      expect(Number(counted)).toBe(2);
    });

    test('returns its last entry', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      expect(await read((tx) => tx.records.getLastRecord({ runId: run.id }))).toBeNull();
      for (const content of ['1', '2']) await write((tx) => tx.records.insertRecord(record(run, { content })));
      expect(await read((tx) => tx.records.getLastRecord({ runId: run.id }))).toMatchObject({ content: '2' });
    });

    test('returns the outcomes of identical calls started in earlier attempts', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      const add = (change: object) => write((tx) => tx.records.insertRecord(record(run, change)));
      const start = (callId: string, change: object = {}) =>
        add({ type: 'tool_call_message', callId, callKey: 'k', ...change });
      await start('done');
      await start('cut off');
      await start('of another key', { callKey: 'other' });
      await start('no start', { callKey: null });
      await add({ type: 'tool_return_message', callId: 'done', callKey: 'k', content: '1', effect: true });
      await start('failed', { attempt: 2 });
      await add({ type: 'tool_return_message', callId: 'failed', content: '2', isError: true, attempt: 2 });
      await start('of this attempt', { attempt: 3 });
      const starts = await read((tx) => tx.records.listStarts({ runId: run.id, callKey: 'k', attempt: 3 }));
      expect(starts).toEqual([
        { content: '1', isError: false },
        { content: null, isError: null },
        { content: '2', isError: true },
      ]);
    });

    test("returns an agent's last entries over all its runs, newest first", async () => {
      const agent = await write((tx) => addAgent(tx));
      for (const content of ['1', '2']) {
        await write(async (tx) => {
          const run = await queueRun(tx, agent);
          await tx.records.insertRecord(record(run, { content: `${content}a` }));
          await tx.records.insertRecord(record(run, { content: `${content}b` }));
          await endRun(tx, run);
        });
      }
      const recent = await read((tx) => tx.records.listRecentRecords({ agentId: agent.id, limit: 3 }));
      expect(recent.map(({ content }) => content)).toEqual(['2b', '2a', '1b']);
    });
  });
}
