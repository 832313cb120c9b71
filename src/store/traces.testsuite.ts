import { randomUUID } from 'node:crypto';
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

    /** A message of a run in a channel, after everything before it. */
    const say = async (tx: Tx, channelId: string, run: Run, text: string): Promise<string> => {
      await tx.events.appendEvent({ type: 'agent_resumed', at: 0, data: { agentId: run.agentId } });
      const id = randomUUID();
      const plain = {
        kind: 'message',
        inReplyTo: null,
        late: false,
        threadId: null,
        trace: null,
        payerId: null,
      } as const;
      const said = { id, channelId, authorId: run.agentId, runId: run.id, text, chainDepth: 0, createdAt: 0 };
      await tx.messages.insertMessage({ ...plain, ...said });
      return id;
    };
    const makeChannel = async (tx: Tx, id: string, kind: 'dm' | 'public', members: readonly string[]) => {
      const none = { topic: '', pair: null, teamOf: null, createdBy: null, createdAt: 0 };
      await tx.channels.insertChannel({ id, kind, ...none });
      for (const participantId of members) await tx.channels.tryJoinChannel({ channelId: id, participantId });
    };

    test('find what each run of an agent said in its direct messages and elsewhere', async () => {
      const { runs, caused } = await write(async (tx) => {
        const [lead, worker] = [await addAgent(tx), await addAgent(tx)];
        const [dm, owner, hall] = [`dm-${lead.id}`, `dm-user-${lead.id}`, `hall-${lead.id}`];
        await makeChannel(tx, dm, 'dm', [lead.id, worker.id]);
        await makeChannel(tx, owner, 'dm', [lead.id, 'user']);
        // It has left this one.
        await makeChannel(tx, hall, 'public', [worker.id]);
        const runs: Run[] = [];
        const caused: string[][] = [];
        for (const n of [1, 2, 3]) {
          const run = await startRun(tx, lead);
          for (const where of [dm, hall, owner]) {
            const id = await say(tx, where, run, `${n} ${where}`);
            if (where !== owner) caused.push([run.id, (await runFor(tx, worker, id)).id]);
          }
          // Before the next one is made, as the agent's clock sees it.
          const { id, fence } = run;
          const done = { state: 'completed', stopReason: 'end_turn', error: null, finalText: '' } as const;
          await tx.runs.endRun({ id, fence, ...done, now: 0 });
          runs.push(run);
        }
        return { runs, caused };
      });
      const said = async (run: Run | undefined, limit = 10) =>
        (await read((tx) => tx.traces.listSent({ runId: run?.id ?? '', limit }))).map(({ text }) => text.slice(0, 4));
      expect(await Promise.all(runs.map((run) => said(run)))).toEqual(
        [1, 2, 3].map((n) => [`${n} dm`, `${n} ha`, `${n} dm`]),
      );
      expect(await said(runs[1], 2)).toEqual(['2 dm', '2 ha']);
      const all = await read((tx) => tx.traces.listCaused({ runIds: runs.map(({ id }) => id), limit: 10 }));
      expect(all.map(({ id, parentRunId }) => [parentRunId, id])).toEqual(caused);
      const second = await read((tx) => tx.traces.listCaused({ runIds: [runs[1]?.id ?? ''], limit: 10 }));
      expect(second.map(({ id }) => id)).toEqual(caused.slice(2, 4).map(([, id]) => id));
      expect(await read((tx) => tx.traces.listSent({ runId: 'none', limit: 10 }))).toEqual([]);
    });

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
