import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { addAgent, answer, endRun, type StoreKit, send, startRun } from './store.testkit.ts';
import type { RunCursor, Tx } from './store.ts';

/** Queries for people and their clients. */
export function testDoor({ read, write }: StoreKit): void {
  const FIRST = Number.MAX_SAFE_INTEGER;
  const addPerson = async (tx: Tx, { id }: Agent) => {
    const person = { id: `p-${id}`, handle: `Person-${id}`, handleKey: `person-${id}`, at: 3 };
    await tx.participants.insertPerson(person);
    return person;
  };

  test("channels are listed in pages by id: all, or a participant's own", async () => {
    const { person, channels } = await write(async (tx) => {
      const agents = [await addAgent(tx), await addAgent(tx), await addAgent(tx)];
      const somebody = await addPerson(tx, agents[0] as Agent);
      const ids = agents.map(({ id }) => `in-${id}`).sort();
      for (const channelId of ids.slice(0, 2))
        await tx.channels.tryJoinChannel({ channelId, participantId: somebody.id });
      return { person: somebody, channels: ids };
    });
    const list = async (participantId: string | null, after: string, limit: number) =>
      (
        await read((tx) =>
          tx.channels.listChannels({
            participantId: participantId ?? 'user',
            all: participantId === null,
            after,
            limit,
          }),
        )
      ).map(({ id }) => id);
    expect(await list(person.id, '', 9)).toEqual(channels.slice(0, 2));
    expect(await list(person.id, '', 1)).toEqual([channels[0]]);
    expect(await list(person.id, channels[0] as string, 9)).toEqual([channels[1]]);
    expect(await list(null, '', 10_000)).toEqual(expect.arrayContaining(channels));
    expect(await read((tx) => tx.participants.getParticipantById({ id: person.id }))).toMatchObject({
      handle: person.handle,
    });
    expect(await read((tx) => tx.participants.getParticipantById({ id: 'nobody' }))).toBeNull();
    const members = await read((tx) => tx.channels.listMembers({ channelId: channels[0] as string }));
    expect(members).toMatchObject([{ id: person.id, kind: 'person', handle: person.handle }]);
  });

  test('tells whether two participants share a channel', async () => {
    const [person, other] = await write(async (tx) => {
      const [agent, another] = [await addAgent(tx), await addAgent(tx)];
      const people = [await addPerson(tx, agent), await addPerson(tx, another)] as const;
      for (const { id } of people) await tx.channels.tryJoinChannel({ channelId: `in-${agent.id}`, participantId: id });
      return people;
    });
    expect(await read((tx) => tx.channels.shareChannel({ a: person.id, b: other.id }))).toBe(true);
    expect(await read((tx) => tx.channels.shareChannel({ a: person.id, b: 'user' }))).toBe(false);
    const shared = await read((tx) => tx.channels.listSharedChannels({ a: person.id, b: other.id }));
    expect(shared).toHaveLength(1);
    expect(await read((tx) => tx.channels.listSharedChannels({ a: person.id, b: 'user' }))).toEqual([]);
  });

  test('participants are listed in pages by handle, without the daemon', async () => {
    const person = await write(async (tx) => addPerson(tx, await addAgent(tx)));
    const all = (await read((tx) => tx.participants.listParticipants({ after: '', limit: 10_000 }))).map(
      ({ id }) => id,
    );
    expect(all).toEqual(expect.arrayContaining(['user', person.id]));
    expect(all).not.toContain('system');
    const before = all[all.indexOf(person.id) - 1] as string;
    const { handleKey } = (await read((tx) => tx.participants.listParticipants({ after: '', limit: 10_000 }))).find(
      ({ id }) => id === before,
    ) as { handleKey: string };
    expect(await read((tx) => tx.participants.listParticipants({ after: handleKey, limit: 1 }))).toMatchObject([
      { id: person.id },
    ]);
  });

  describe('messages for people', () => {
    test('of a channel are newest first, with author and state of the request', async () => {
      const agent = await write((tx) => addAgent(tx));
      const [news, request] = await write(async (tx) => [
        await send(tx, { to: agent }),
        await send(tx, { to: agent, kind: 'request' }),
      ]);
      const page = (before: number) =>
        read((tx) => tx.messages.listChannelMessages({ channelId: `in-${agent.id}`, before, limit: 1 }));
      const [newest] = await page(FIRST);
      const open = { id: request, handle: 'user', requestState: 'open', recipientId: agent.id };
      expect(newest).toMatchObject(open);
      expect(await page(newest?.seq as number)).toMatchObject([{ id: news, requestState: null, recipientId: null }]);
      expect(await read((tx) => tx.messages.getMessageView({ id: request as string }))).toEqual(newest);
    });

    test("in an inbox are those by others in a participant's DMs, newest first", async () => {
      const { person, sent } = await write(async (tx) => {
        const agent = await addAgent(tx);
        const other = await addAgent(tx);
        const somebody = await addPerson(tx, agent);
        await tx.channels.tryJoinChannel({ channelId: `in-${agent.id}`, participantId: somebody.id });
        const mail = { to: agent, from: agent.id };
        const ids = [await send(tx, mail), await send(tx, mail)];
        await send(tx, { to: agent, from: somebody.id });
        await send(tx, { to: other, from: agent.id });
        return { person: somebody, sent: ids };
      });
      const inbox = (before: number, limit: number) =>
        read((tx) => tx.messages.listInbox({ participantId: person.id, before, limit }));
      const all = await inbox(FIRST, 9);
      expect(all.map(({ id }) => id)).toEqual(sent.toReversed());
      expect(await inbox(all[0]?.seq as number, 1)).toEqual(all.slice(1));
    });

    test('that are questions are listed until they are answered', async () => {
      const { worker, lead, ids } = await write(async (tx) => {
        const root = await addAgent(tx);
        const child = await addAgent(tx, { parent: root });
        const mail = { to: child, from: root.id, kind: 'request' } as const;
        return { lead: root, worker: child, ids: [await send(tx, mail), await send(tx, mail)] as const };
      });
      const questions = async () =>
        (await read((tx) => tx.messages.listOpenQuestions({ participantId: worker.id, before: FIRST, limit: 9 }))).map(
          ({ id }) => id,
        );
      expect(await questions()).toEqual([ids[1], ids[0]]);
      await write((tx) => answer(tx, ids[1], lead, worker));
      expect(await questions()).toEqual([ids[0]]);
    });
  });

  test('runs are listed in pages, newest first, by agent and by state', async () => {
    const { agent, runs } = await write(async (tx) => {
      const made = await addAgent(tx);
      const all = [];
      for (let i = 0; i < 3; i++) {
        const run = await startRun(tx, made);
        if (i < 2) await endRun(tx, run);
        all.unshift(run.id);
      }
      return { agent: made, runs: all };
    });
    const list = (change: Partial<Parameters<Tx['runs']['listRuns']>[0]>) =>
      read((tx) => tx.runs.listRuns({ agentId: agent.id, state: null, before: null, limit: 9, ...change }));
    const all = await list({});
    expect(all.map(({ id, handle }) => [id, handle])).toEqual(runs.map((id) => [id, agent.handle]));
    expect(await list({ state: 'running' })).toEqual(all.slice(0, 1));
    const before = all[0] as RunCursor;
    expect(await list({ before, limit: 1 })).toEqual(all.slice(1, 2));
    expect(await list({ agentId: null, limit: 1 })).toEqual(all.slice(0, 1));
  });

  test('a token identifies its owner until it expires or is revoked', async () => {
    const { person, token } = await write(async (tx) => {
      const somebody = await addPerson(tx, await addAgent(tx));
      const made = { id: `t-${somebody.id}`, hash: `h-${somebody.id}`, participantId: somebody.id, label: 'laptop' };
      await tx.tokens.insertToken({ ...made, kind: 'page', createdAt: 5, expiresAt: 20 });
      return { person: somebody, token: made };
    });
    const owner = (at = 6) => read((tx) => tx.tokens.getTokenOwner({ hash: token.hash, at }));
    const listed = async () => (await read((tx) => tx.tokens.listTokens())).find(({ id }) => id === token.id);
    const known = {
      id: person.id,
      kind: 'person',
      tokenId: token.id,
      tokenKind: 'page',
      tokenCreatedAt: 5,
      tokenExpiresAt: 20,
    };
    expect(await owner()).toMatchObject(known);
    expect(await owner(19)).toMatchObject(known);
    expect(await owner(20)).toBeNull();
    expect(await listed()).toEqual({
      id: token.id,
      label: 'laptop',
      kind: 'page',
      handle: person.handle,
      createdAt: 5,
      expiresAt: 20,
      revokedAt: null,
    });
    expect(await write((tx) => tx.tokens.tryExtendToken({ id: token.id, expiresAt: 30 }))).toBe(true);
    expect(await owner(20)).toMatchObject({ tokenExpiresAt: 30 });
    expect(await write((tx) => tx.tokens.tryRevokeToken({ id: token.id, at: 9 }))).toBe(true);
    expect(await write((tx) => tx.tokens.tryExtendToken({ id: token.id, expiresAt: 40 }))).toBe(false);
    expect(await write((tx) => tx.tokens.tryRevokeToken({ id: token.id, at: 10 }))).toBe(false);
    expect(await owner()).toBeNull();
    expect(await listed()).toMatchObject({ revokedAt: 9 });
  });

  test('the response to a post is stored once, until it expires', async () => {
    const post = { participantId: 'user', key: 'k', request: 'r', status: 201, response: { a: 1 }, createdAt: 10 };
    await write((tx) => tx.idempotency.insertResponse(post));
    await expect(write((tx) => tx.idempotency.insertResponse(post))).rejects.toThrow(/unique/i);
    const get = () => read((tx) => tx.idempotency.getResponse({ participantId: 'user', key: 'k' }));
    expect(await write((tx) => tx.retention.pruneResponses({ before: 10, limit: 9 }))).toBe(0);
    expect(await get()).toEqual(post);
    expect(await write((tx) => tx.retention.pruneResponses({ before: 11, limit: 9 }))).toBe(1);
    expect(await get()).toBeNull();
  });

  test('old events can be deleted, and numbers are not reused', async () => {
    const append = async (at: number) => {
      await write((tx) => tx.events.appendEvent({ type: 'agent_resumed', at, data: { agentId: 'a' } }));
      return read((tx) => tx.events.getEventCounter());
    };
    const deleteAll = () =>
      write((tx) => tx.retention.pruneEvents({ before: Number.MAX_SAFE_INTEGER, limit: 100_000 }));
    await deleteAll();
    const after = await read((tx) => tx.events.getEventCounter());
    for (const at of [-3, -2, -1]) await append(at);
    expect(await write((tx) => tx.retention.pruneEvents({ before: -1, limit: 9 }))).toBe(2);
    expect(await append(1)).toBe(after + 4);
    const left = await read((tx) => tx.events.listEvents({ after, limit: 9 }));
    expect(left.map(({ seq }) => seq)).toEqual([after + 3, after + 4]);
    await deleteAll();
    expect(await deleteAll()).toBe(0);
    expect(await read((tx) => tx.events.listEvents({ after: 0, limit: 1 }))).toEqual([]);
    expect(await append(1)).toBe(after + 5);
    const [oldest] = await read((tx) => tx.events.listEvents({ after: 0, limit: 1 }));
    expect(await read((tx) => tx.events.getOldestEvent())).toBe(oldest?.seq);
  });
}
