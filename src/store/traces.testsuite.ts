import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Run } from '../core/run.ts';
import { addAgent, endRun, type StoreKit, send, startRun } from './store.testkit.ts';
import type { Tx } from './tx.ts';

export function testTraces({ read, write }: StoreKit): void {
  describe('traces', () => {
    /** A run of the agent that this message started. */
    const runFor = async (tx: Tx, agent: Agent, triggerId: string): Promise<Run> => {
      const run = await startRun(tx, agent);
      await tx.runs.setRunStart({ id: run.id, serves: null, triggerId, chainDepth: 0, payerId: null });
      await endRun(tx, run);
      return run;
    };

    test('go from a message to the runs that it started, and from runs to those that their messages started', async () => {
      const found = await write(async (tx) => {
        const lead = await addAgent(tx);
        const worker = await addAgent(tx);
        const first = await send(tx, { to: lead });
        const asked = await runFor(tx, lead, first);
        const texts = ['one', 'two'];
        const sent: string[] = [];
        for (const text of texts) sent.push(await send(tx, { to: worker, from: lead.id, runId: asked.id, text }));
        const worked = [await runFor(tx, worker, sent[0] ?? ''), await runFor(tx, worker, sent[1] ?? '')];
        await tx.messages.deleteMessage({ id: sent[1] ?? '', at: 1 });
        return { lead, first, asked, worked, sent };
      });
      const { lead, first, asked, worked, sent } = found;
      const started = await read((tx) => tx.traces.listStarted({ messageId: first, limit: 10 }));
      expect(started).toMatchObject([{ id: asked.id, handle: lead.handle, parentRunId: null }]);
      const caused = (limit: number) => read((tx) => tx.traces.listCaused({ runIds: [asked.id], limit }));
      expect((await caused(10)).map(({ id, parentRunId }) => [id, parentRunId])).toEqual(
        worked.map(({ id }) => [id, asked.id]),
      );
      expect(await caused(1)).toHaveLength(1);
      const list = await read((tx) => tx.traces.listSent({ runId: asked.id, limit: 10 }));
      expect(list).toMatchObject([{ id: sent[0], text: 'one', runId: asked.id }]);
    });
  });
}
