import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { addAgent, type StoreKit, send, startRun } from './store.testkit.ts';
import type { AgentCursor } from './store.ts';

export function testAgents({ read, write }: StoreKit): void {
  /** A root with two children; the first one has a child. */
  const addTeam = () =>
    write(async (tx) => {
      const lead = await addAgent(tx);
      const one = await addAgent(tx, { parent: lead, name: 'One' });
      const two = await addAgent(tx, { parent: lead, name: 'Two' });
      const below = await addAgent(tx, { parent: one, name: 'Below' });
      return { lead, one, two, below };
    });
  const idsOf = (agents: readonly { readonly id: string }[]) => agents.map(({ id }) => id);

  describe('agents', () => {
    test('are returned as stored', async () => {
      const agent = await write((tx) => addAgent(tx, { model: 'm', tools: ['complete'], instructions: 'Ü\'\n"👍' }));
      expect(await read((tx) => tx.agents.getAgent({ id: agent.id }))).toEqual(agent);
      expect(await read((tx) => tx.agents.getAgent({ id: 'nobody' }))).toBeNull();
    });

    test('are participants, found by their handle case-insensitively', async () => {
      const agent = await write((tx) => addAgent(tx));
      const found = await read((tx) => tx.participants.getParticipant({ handleKey: agent.handle.toLowerCase() }));
      expect(found).toMatchObject({ id: agent.id, kind: 'agent', handle: agent.handle });
      expect(await read((tx) => tx.participants.getParticipant({ handleKey: 'user' }))).toMatchObject({
        kind: 'person',
      });
    });

    test('a taken handle is refused, and nothing of the agent is stored', async () => {
      const { handle } = await write((tx) => addAgent(tx));
      let tried: string | undefined;
      const refused = write(async (tx) => {
        tried = (await addAgent(tx)).id;
        await addAgent(tx, { handle: handle.toUpperCase() });
      });
      await expect(refused).rejects.toThrow(/unique/i);
      expect(await read((tx) => tx.agents.getAgent({ id: tried as string }))).toBeNull();
    });

    test("a sibling's name is taken while it lives", async () => {
      const { lead, one } = await addTeam();
      await expect(write((tx) => addAgent(tx, { parent: lead, name: 'ONE' }))).rejects.toThrow(/unique/i);
      await write((tx) => tx.agents.setTerminated({ id: one.id, at: 5 }));
      const again = await write((tx) => addAgent(tx, { parent: lead, name: 'ONE' }));
      expect(again.id).not.toBe(one.id);
    });

    test("the scope is the intersection of the agent's and all its ancestors'", async () => {
      const { lead, one, below } = await addTeam();
      const scope = (agent: Agent) => read((tx) => tx.agents.getScope({ id: agent.id }));
      expect(await scope(below)).toBeNull();
      await write((tx) => tx.agents.setScope({ id: lead.id, tools: ['a', 'b'] }));
      expect([await scope(below), await scope(one)]).toEqual([
        ['a', 'b'],
        ['a', 'b'],
      ]);
      await write((tx) => tx.agents.setScope({ id: below.id, tools: ['b', 'c'] }));
      expect([await scope(below), await scope(one)]).toEqual([['b'], ['a', 'b']]);
      await write((tx) => tx.agents.setScope({ id: lead.id, tools: null }));
      expect(await scope(below)).toEqual(['b', 'c']);
    });

    test('ancestors are the parent, its parent and so on', async () => {
      const { lead, one, below } = await addTeam();
      const above = async (agent: Agent) => idsOf(await read((tx) => tx.agents.listAncestors({ id: agent.id })));
      expect(await above(below)).toEqual([one.id, lead.id]);
      expect(await above(lead)).toEqual([]);
    });

    test('neighbours are the living parent, children and siblings, oldest first', async () => {
      const { lead, one, two, below } = await addTeam();
      const neighbours = async (agent: Agent) => idsOf(await read((tx) => tx.agents.listNeighbours(agent)));
      expect(await neighbours(one)).toEqual([lead.id, two.id, below.id]);
      expect(await neighbours(lead)).toEqual([one.id, two.id]);
      expect(await neighbours(below)).toEqual([one.id]);
      await write((tx) => tx.agents.setTerminated({ id: two.id, at: 5 }));
      expect(await neighbours(one)).toEqual([lead.id, below.id]);
    });

    test('a neighbour is found by name, only one hop away', async () => {
      const { lead, one, two, below } = await addTeam();
      const find = async ({ id, parentId }: Agent, { nameKey }: Agent) =>
        (await read((tx) => tx.agents.getNeighbour({ id, parentId: parentId ?? '', nameKey })))?.id;
      expect(await find(one, lead)).toBe(lead.id);
      expect(await find(one, two)).toBe(two.id);
      expect(await find(one, below)).toBe(below.id);
      expect(await find(lead, two)).toBe(two.id);
      for (const [from, to] of [
        [lead, below],
        [two, below],
        [below, lead],
        [one, one],
      ] as const)
        expect(await find(from, to)).toBeUndefined();
    });

    test('siblings, children, the subtree and the size of the tree only count living agents', async () => {
      const { lead, one, two, below } = await addTeam();
      await write(async (tx) => {
        const gone = await addAgent(tx, { parent: lead });
        await tx.agents.setTerminated({ id: gone.id, at: 5 });
      });
      await read(async (tx) => {
        expect(idsOf(await tx.agents.listSiblings({ id: one.id, parentId: lead.id }))).toEqual([two.id]);
        expect(idsOf(await tx.agents.listChildren({ id: lead.id }))).toEqual([one.id, two.id]);
        expect(await tx.agents.countChildren({ id: lead.id })).toBe(2);
        expect(idsOf(await tx.agents.listSubtree({ id: one.id })).sort()).toEqual([one.id, below.id].sort());
        expect(await tx.agents.countTree({ treeId: lead.id })).toBe(4);
      });
    });

    test('names find roots, and all agents with that name, oldest first', async () => {
      const { lead } = await addTeam();
      const name = `x-${lead.id}`;
      const [old, young] = await write(async (tx) => [
        await addAgent(tx, { parent: lead, name, createdAt: 20 }),
        await addAgent(tx, { name, createdAt: 30 }),
        await addAgent(tx, { name, createdAt: 10, terminatedAt: 40 }),
      ]);
      expect((await read((tx) => tx.agents.getRootByName({ nameKey: name })))?.id).toBe(young?.id);
      expect(idsOf(await read((tx) => tx.agents.listAgentsNamed({ nameKey: name })))).toEqual([old?.id, young?.id]);
    });

    test('pages are in order of creation and complete', async () => {
      const at = 1_000_000_000;
      const made = await write(async (tx) => {
        const agents = [];
        for (let i = 0; i < 7; i++) agents.push(await addAgent(tx, { createdAt: at + Math.floor(i / 3) }));
        return agents;
      });
      await write((tx) => tx.agents.setTerminated({ id: (made[0] as Agent).id, at: 5 }));
      const page = async (all: boolean) => {
        const found: string[] = [];
        let after: AgentCursor | null = { createdAt: at - 1, id: '' };
        while (after && found.length < 20) {
          const views = await read((tx) => tx.agents.listAgentViews({ after, limit: 2, all }));
          found.push(...idsOf(views));
          const last = views.at(-1);
          after = last ? { createdAt: last.createdAt, id: last.id } : null;
        }
        return found;
      };
      const inOrder = made.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
      expect(await page(true)).toEqual(idsOf(inOrder));
      expect(await page(false)).toEqual(idsOf(inOrder).filter((id) => id !== made[0]?.id));
      expect(await read((tx) => tx.agents.listAgentViews({ after: null, limit: 3, all: true }))).toHaveLength(3);
    });

    test('a view counts runs, open questions and pending deliveries', async () => {
      const { lead, one, two } = await addTeam();
      const counts = async ({ id }: Agent) => {
        const view = await read((tx) => tx.agents.getAgentView({ id }));
        return [view?.running, view?.asking, view?.pending];
      };
      expect(await counts(one)).toEqual([0, 0, 0]);
      await write(async (tx) => {
        await startRun(tx, one);
        await send(tx, { to: two, from: one.id, kind: 'request' });
        await send(tx, { to: two, from: one.id });
      });
      expect(await counts(one)).toEqual([1, 1, 1]);
      expect(await counts(two)).toEqual([0, 0, 2]);
      expect(await counts(lead)).toEqual([0, 0, 0]);
      expect(await read((tx) => tx.agents.getAgentView({ id: 'nobody' }))).toBeNull();
    });

    test('completing, rest and end are stored', async () => {
      const { id } = await write((tx) => addAgent(tx));
      const now = () => read((tx) => tx.agents.getAgent({ id }));
      await write(async (tx) => {
        await tx.agents.setCompleting({ id });
        await tx.agents.restAgent({ id, until: 4_000_000_000_000, rests: 2 });
      });
      const rested = { completing: true, restUntil: 4_000_000_000_000, rests: 2, terminatedAt: null };
      expect(await now()).toMatchObject(rested);
      await write((tx) => tx.agents.settleAgent({ id }));
      expect(await now()).toMatchObject({ rests: 0, restUntil: 0 });
      await write((tx) => tx.agents.setTerminated({ id, at: 7 }));
      expect(await now()).toMatchObject({ completing: false, terminatedAt: 7 });
      const nobody = write((tx) => tx.agents.restAgent({ id: 'nobody', until: 1, rests: 1 }));
      await expect(nobody).rejects.toMatchObject({ code: 'not_found' });
    });

    test('spawned agents become ready once', async () => {
      const { lead } = await addTeam();
      const child = await write((tx) => addAgent(tx, { parent: lead, ready: false, spawnedBy: `run-${lead.id}` }));
      expect(await read((tx) => tx.agents.listSpawned({ runId: `run-${lead.id}` }))).toEqual([{ id: child.id }]);
      await write((tx) => tx.agents.readySpawned({ runId: `run-${lead.id}` }));
      expect(await read((tx) => tx.agents.getAgent({ id: child.id }))).toMatchObject({ ready: true });
      expect(await read((tx) => tx.agents.listSpawned({ runId: `run-${lead.id}` }))).toEqual([]);
    });

    test("a node's living external agents are listed", async () => {
      const [here, gone] = await write(async (tx) => {
        const root = await addAgent(tx, { provider: 'external' });
        return [root, await addAgent(tx, { parent: root, provider: 'external' }), await addAgent(tx, { parent: root })];
      });
      await write((tx) => tx.agents.setTerminated({ id: (gone as Agent).id, at: 1 }));
      expect(idsOf(await read((tx) => tx.agents.listExternalAgents({ nodeId: here?.nodeId as string })))).toEqual([
        here?.id,
      ]);
    });
  });

  describe('channels', () => {
    test('are found by id, by pair and by team', async () => {
      const { lead } = await addTeam();
      const base = { kind: 'private', topic: 'Ü', pair: null, teamOf: null, createdAt: 3, createdBy: null } as const;
      const team = { ...base, id: `team-${lead.id}`, teamOf: lead.id };
      const dm = { ...base, kind: 'dm' as const, id: `dm-${lead.id}`, pair: `${lead.id}:user` };
      await write(async (tx) => {
        await tx.channels.insertChannel(team);
        await tx.channels.insertChannel(dm);
      });
      await read(async (tx) => {
        expect(await tx.channels.getChannel({ id: dm.id })).toEqual(dm);
        expect(await tx.channels.getDm({ pair: dm.pair })).toEqual(dm);
        expect(await tx.channels.getTeamChannel({ teamOf: lead.id })).toEqual(team);
        expect(await tx.channels.getChannel({ id: 'none' })).toBeNull();
      });
      const double = write((tx) => tx.channels.insertChannel({ ...dm, id: 'other' }));
      await expect(double).rejects.toThrow(/unique/i);
    });

    test('members are in order of joining, and joining is idempotent', async () => {
      const { lead, one, two } = await addTeam();
      const channelId = `in-${lead.id}`;
      await write(async (tx) => {
        for (const { id } of [two, one, two, lead]) await tx.channels.tryJoinChannel({ channelId, participantId: id });
      });
      const members = await read((tx) => tx.channels.listMembers({ channelId }));
      expect(members.map(({ id }) => id)).toEqual([two.id, one.id, lead.id]);
      expect(await read((tx) => tx.channels.isMember({ channelId, participantId: one.id }))).toBe(true);
      expect(await read((tx) => tx.channels.isMember({ channelId, participantId: 'user' }))).toBe(false);
    });

    test('a gate is closed and opened; a permit and what was told end with it', async () => {
      const { id } = await write((tx) => addAgent(tx));
      const gate = async () => {
        const { gatedAt, permitted, gateTold } = (await read((tx) => tx.agents.getAgent({ id }))) as Agent;
        return [gatedAt, permitted, gateTold];
      };
      expect(await gate()).toEqual([null, false, false]);
      await write((tx) => tx.agents.setGate({ id, at: 5 }));
      await write((tx) => tx.agents.setMetadata({ id, metadata: { ö: '1' } }));
      expect(await read((tx) => tx.agents.getAgent({ id }))).toMatchObject({ metadata: { ö: '1' } });
      await write((tx) => tx.agents.setPermitted({ id }));
      await write((tx) => tx.agents.setGateTold({ id }));
      expect(await gate()).toEqual([5, true, true]);
      await write((tx) => tx.agents.setGate({ id, at: null }));
      expect(await gate()).toEqual([null, false, false]);
    });
  });
}
