import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Block } from '../core/memory.ts';
import { addAgent, type StoreKit } from './store.testkit.ts';
import type { Tx } from './store.ts';

export function testMemory({ read, write }: StoreKit): void {
  const EVER = { tags: [], since: 0, until: Number.MAX_SAFE_INTEGER };

  const addBlock = async (tx: Tx, ownerId: string, label: string, change: Partial<Block> = {}) => {
    const id = randomUUID();
    const row = { id, ownerId, label, labelKey: label.toLowerCase(), text: 'old', version: 1, open: false };
    const block: Block = { ...row, createdAt: 1, updatedAt: 1, deletedAt: null, ...change };
    await tx.memory.insertBlock(block);
    await tx.memory.insertBlockChange({ blockId: id, version: 1, text: block.text, changedBy: ownerId, at: 1 });
    return block;
  };

  const addPassage = async (
    tx: Tx,
    agent: Agent,
    content: string,
    change: { at?: number; tags?: string[]; near?: string[] } = {},
  ) => {
    const id = randomUUID();
    await tx.events.appendEvent({
      type: 'passage_stored',
      at: 1,
      data: { agentId: agent.id, passageId: id },
    });
    const small = content.toLowerCase();
    const seq = await tx.memory.insertPassage({
      agentId: agent.id,
      id,
      content,
      folded: /[^\0-\x7f]/.test(content) ? small : null,
      tags: change.tags ?? [],
      createdAt: change.at ?? 1,
      runId: null,
    });
    const own = small.split(' ').map((word) => word.replace(/[^a-z0-9]/g, 'x'));
    await tx.memory.indexPassage({ agentId: agent.id, seq, words: { own, near: change.near ?? [] } });
    return id;
  };

  test('a block is only updated from its current version', async () => {
    const agent = await write((tx) => addAgent(tx));
    const block = await write((tx) => addBlock(tx, agent.id, 'Mood'));
    const change = { id: block.id, text: 'new', at: 2, deletedAt: null };
    expect(await write((tx) => tx.memory.tryUpdateBlock({ ...change, before: 1, version: 2 }))).toBe(true);
    expect(await write((tx) => tx.memory.tryUpdateBlock({ ...change, before: 1, version: 2 }))).toBe(false);
    const get = () => read((tx) => tx.memory.getBlockOf({ ownerId: agent.id, labelKey: 'mood' }));
    expect(await get()).toEqual({ ...block, text: 'new', version: 2, updatedAt: 2, owner: agent.handle });
    await expect(write((tx) => addBlock(tx, agent.id, 'MOOD'))).rejects.toThrow(/unique/i);

    await write((tx) =>
      tx.memory.tryUpdateBlock({ id: block.id, before: 2, version: 3, text: '', at: 3, deletedAt: 3 }),
    );
    expect(await get()).toMatchObject({ deletedAt: 3, version: 3 });
    expect(await read((tx) => tx.memory.getSeenBlock({ readerId: agent.id, labelKey: 'mood' }))).toBeNull();
    expect(await read((tx) => tx.memory.listSeenBlocks({ readerId: agent.id }))).toEqual([]);
  });

  test('a block is visible to its owner and to those it is shared with', async () => {
    const [owner, reader, other] = await write(
      async (tx) => [await addAgent(tx), await addAgent(tx), await addAgent(tx)] as const,
    );
    const [own, shared] = await write(async (tx) => {
      const blocks = [await addBlock(tx, reader.id, 'own'), await addBlock(tx, owner.id, 'plan', { createdAt: 2 })];
      await tx.memory.insertBlockReader({ blockId: blocks[1]?.id as string, agentId: reader.id });
      await tx.memory.setBlockOpen({ id: blocks[1]?.id as string, open: true });
      return blocks as [Block, Block];
    });
    const labels = async (readerId: string) =>
      (await read((tx) => tx.memory.listSeenBlocks({ readerId }))).map(({ label, owner: by }) => [label, by]);
    expect(await labels(owner.id)).toEqual([['plan', owner.handle]]);
    expect(await labels(other.id)).toEqual([]);
    const both = [
      ['own', reader.handle],
      ['plan', owner.handle],
    ];
    expect(await labels(reader.id)).toEqual(both);
    const seen = await read((tx) => tx.memory.getSeenBlock({ readerId: reader.id, labelKey: 'plan' }));
    expect(seen).toMatchObject({ id: shared.id, open: true });
    expect(await read((tx) => tx.memory.listBlockReaders({ blockId: shared.id }))).toEqual([
      { id: reader.id, handle: reader.handle },
    ]);
    expect(await read((tx) => tx.memory.listBlockReaders({ blockId: own.id }))).toEqual([]);
    expect(await write((tx) => tx.memory.deleteBlockReaders({ blockId: shared.id }))).toBe(1);
    expect(await labels(reader.id)).toEqual([['own', reader.handle]]);
  });

  test('every change of a block is stored', async () => {
    const agent = await write((tx) => addAgent(tx));
    const { id } = await write((tx) => addBlock(tx, agent.id, 'mood'));
    await write((tx) => tx.memory.insertBlockChange({ blockId: id, version: 2, text: null, changedBy: 'user', at: 5 }));
    const list = (before: number, limit: number) =>
      read((tx) => tx.memory.listBlockChanges({ blockId: id, before, limit }));
    const first = { blockId: id, version: 1, text: 'old', changedBy: agent.id, at: 1, by: agent.handle };
    const second = { blockId: id, version: 2, text: null, changedBy: 'user', at: 5, by: 'user' };
    expect(await list(Number.MAX_SAFE_INTEGER, 9)).toEqual([second, first]);
    expect(await list(2, 9)).toEqual([first]);
    expect(await list(99, 1)).toEqual([second]);
    expect(await read((tx) => tx.memory.getBlockChange({ blockId: id, version: 1 }))).toMatchObject({ text: 'old' });
    expect(await read((tx) => tx.memory.getBlockChange({ blockId: id, version: 9 }))).toBeNull();
  });

  test('passages are listed newest first, by tag and by date', async () => {
    const agent = await write((tx) => addAgent(tx));
    const [a, b, c] = await write(async (tx) => [
      await addPassage(tx, agent, 'one', { at: 10, tags: ['x', 'y'] }),
      await addPassage(tx, agent, 'two', { at: 20, tags: ['xy'] }),
      await addPassage(tx, agent, 'three', { at: 30, tags: ['y'] }),
    ]);
    await write(async (tx) => addPassage(tx, await addAgent(tx), 'not mine', { at: 20, tags: ['y'] }));
    const page = { agentId: agent.id, ...EVER, before: Number.MAX_SAFE_INTEGER, limit: 9 };
    const list = (change: object) => read((tx) => tx.memory.listPassages({ ...page, ...change }));
    const ids = async (change: object) => (await list(change)).map(({ id }) => id);
    expect(await ids({})).toEqual([c, b, a]);
    expect(await ids({ limit: 1 })).toEqual([c]);
    expect(await ids({ before: (await list({}))[0]?.seq })).toEqual([b, a]);
    expect(await ids({ tags: ['y'] })).toEqual([c, a]);
    expect(await ids({ tags: ['z'] })).toEqual([]);
    expect(await ids({ tags: ['y', 'x'] })).toEqual([a]);
    expect(await ids({ since: 20 })).toEqual([c, b]);
    expect(await ids({ until: 20 })).toEqual([a]);
  });

  test("passages are found by words: best match first, newest of equals first, only one's own", async () => {
    const [agent, other] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
    const [apple, both, pear, second] = await write(async (tx) => [
      await addPassage(tx, agent, 'apple tree here'),
      await addPassage(tx, agent, 'apple pear here', { tags: ['fruit'] }),
      await addPassage(tx, agent, 'a pear tree'),
      await addPassage(tx, agent, 'apple tree here', { at: 5 }),
    ]);
    await write((tx) => addPassage(tx, other, 'apple pear'));
    const find = async (words: string[], change: object = {}) =>
      (
        await read((tx) =>
          tx.memory.findPassages({
            agentId: agent.id,
            ...EVER,
            terms: { words, phrases: [] },
            limit: 9,
            ...change,
          }),
        )
      ).map(({ id }) => id);
    const found = await find(['apple', 'pear']);
    expect(found[0]).toBe(both);
    expect(new Set(found)).toEqual(new Set([apple, both, pear, second]));
    expect(found.indexOf(second as string)).toBeLessThan(found.indexOf(apple as string));
    expect(await find(['apple', 'pear'], { limit: 1 })).toEqual([both]);
    expect(await find(['apple', 'pear'], { limit: 1, tags: ['fruit'] })).toEqual([both]);
    expect(await find(['apple'], { since: 5 })).toEqual([second]);
    expect(await find(['apple'], { tags: ['fruit'] })).toEqual([both]);
    expect(await find(['nothing'])).toEqual([]);
    expect(await find(['or', 'not', 'near', 'and'])).toEqual([]);
  });

  test("a word in a passage counts more than the same word around one, and only one's own passages are counted", async () => {
    const [agent, other] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
    const long = `apple ${'tree '.repeat(40).trim()}`;
    const [beside, own] = await write(async (tx) => [
      await addPassage(tx, agent, 'pear', { near: ['apple'] }),
      await addPassage(tx, agent, long),
    ]);
    for (let n = 0; n < 5; n += 1) await write((tx) => addPassage(tx, agent, `nothing of it ${n}`));
    const find = async (words: string[], phrases: string[][] = []) => {
      const terms = { words, phrases };
      return (await read((tx) => tx.memory.findPassages({ agentId: agent.id, ...EVER, terms, limit: 9 }))).map(
        ({ id, score }) => ({ id, score }),
      );
    };
    const before = await find(['apple']);
    expect(before.map(({ id }) => id)).toEqual([own, beside]);
    for (let n = 0; n < 20; n += 1) await write((tx) => addPassage(tx, other, 'apple apple pear', { near: ['apple'] }));
    expect(await find(['apple'])).toEqual(before);
    expect(await read((tx) => tx.memory.getPassageStats({ agentId: agent.id }))).toEqual({ passages: 7, length: 62 });
    expect(await find(['nothing', 'tree'], [['apple', 'tree']])).toMatchObject([{ id: own }, {}, {}, {}, {}, {}]);
  });

  test("the words of one's own passages are listed by their beginning, and those that none has are told", async () => {
    const [agent, other] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
    await write((tx) => addPassage(tx, agent, 'apricot apple pear apple', { near: ['april'] }));
    await write((tx) => addPassage(tx, other, 'apron'));
    const listed = (beginning: string, limit: number) =>
      read((tx) => tx.memory.listPassageTerms({ agentId: agent.id, beginning, limit }));
    expect(await listed('ap', 9)).toEqual(['apple', 'apricot']);
    expect(await listed('ap', 1)).toEqual(['apple']);
    expect(await listed('q', 9)).toEqual([]);
    const words = ['apron', 'pear', 'april', 'nowhere'];
    const unknown = await read((tx) => tx.memory.listUnknownPassageWords({ agentId: agent.id, words }));
    expect(unknown).toEqual(['apron', 'nowhere']);
  });

  test('a passage is indexed again when its neighbours change, and knows them', async () => {
    const [agent, other] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
    const ids = await write(async (tx) => [
      await addPassage(tx, agent, 'one'),
      await addPassage(tx, agent, 'two words'),
      await addPassage(tx, other, 'foreign'),
      await addPassage(tx, agent, 'three'),
    ]);
    const seqs = await read((tx) => seqsOf(tx, agent));
    const rows = await read((tx) => tx.memory.listPassagesBySeq({ agentId: agent.id, ...EVER, seqs }));
    const [first, second, third] = rows.sort((a, b) => a.seq - b.seq);
    expect([first?.id, second?.id, third?.id]).toEqual([ids[0], ids[1], ids[3]]);
    if (!second) throw new Error('There is no passage.');
    expect(await read((tx) => tx.memory.getPassagesBeside({ agentId: agent.id, seq: second.seq }))).toEqual({
      before: first,
      after: third,
    });
    await write((tx) => tx.memory.indexPassage({ ...second, words: { own: ['only'], near: ['one', 'three'] } }));
    const find = async (word: string) =>
      (
        await read((tx) =>
          tx.memory.findPassages({ agentId: agent.id, ...EVER, terms: { words: [word], phrases: [] }, limit: 9 }),
        )
      ).map(({ id }) => id);
    expect(await find('words')).toEqual([]);
    expect(await find('only')).toEqual([ids[1]]);
    expect(await find('three')).toEqual([ids[3], ids[1]]);
    expect(await read((tx) => tx.memory.getPassageStats({ agentId: agent.id }))).toEqual({ passages: 3, length: 3 });
    expect(await read((tx) => tx.memory.listUnindexedPassages({ limit: 9 }))).toEqual([]);
  });

  const seqsOf = async (tx: Tx, agent: Agent) =>
    (await tx.memory.listPassages({ agentId: agent.id, ...EVER, before: Number.MAX_SAFE_INTEGER, limit: 99 })).map(
      ({ seq }) => seq,
    );

  test('vectors of passages are stored in order, belong to a model, and go with their passage', async () => {
    const [agent, far] = await write(
      async (tx) => [await addAgent(tx), await addAgent(tx, { nodeId: 'far' })] as const,
    );
    const ids = await write(async (tx) => [await addPassage(tx, agent, 'one'), await addPassage(tx, agent, 'two')]);
    await write((tx) => addPassage(tx, far, 'elsewhere'));
    const waiting = async () =>
      (await read((tx) => tx.memory.listUnembeddedPassages({ nodeId: agent.nodeId, limit: 99 })))
        .filter(({ agentId }) => agentId === agent.id)
        .map(({ id }) => id);
    expect(await waiting()).toEqual(ids);
    const [first = 0, second = 0] = (await read((tx) => seqsOf(tx, agent))).reverse();
    const vectorOf = (seq: number, n: number) => ({ agentId: agent.id, seq, vector: Buffer.from([0, 0, n, 1]) });
    const put = (model: string, ...vectors: ReturnType<typeof vectorOf>[]) =>
      write((tx) => tx.memory.putPassageVectors({ model, dimension: 1, vectors }));
    expect(await put('m', vectorOf(second, 2), vectorOf(1e9, 3), vectorOf(first, 1))).toBe(2);
    expect(await waiting()).toEqual([]);
    const key = { agentId: agent.id, model: 'm' };
    const list = (after: number) => read((tx) => tx.memory.listPassageVectors({ ...key, after, limit: 9 }));
    expect((await list(0)).map(({ seq, vector }) => [seq, vector[2]])).toEqual([
      [second, 2],
      [first, 1],
    ]);
    expect(await list((await list(0)).at(-1)?.number ?? 0)).toEqual([]);
    expect(await read((tx) => tx.memory.getPassageVectors({ ...key, seqs: [first, 1e9] }))).toEqual([
      { seq: first, vector: Buffer.from([0, 0, 1, 1]) },
    ]);
    expect(await read((tx) => tx.memory.countPassageVectors(key))).toBe(2);
    expect(await read((tx) => tx.memory.countPassageVectors({ ...key, model: 'n' }))).toBe(0);
    expect(await write((tx) => tx.memory.forgetPassageVectors({ model: 'm' }))).toBe(0);
    expect(await write((tx) => tx.memory.forgetPassageVectors({ model: 'n' }))).toBe(2);
    expect(await waiting()).toEqual(ids);
    expect(await put('n', vectorOf(first, 7))).toBe(1);
    expect(await read((tx) => tx.memory.countPassageVectors(key))).toBe(1);
    expect(await write((tx) => tx.memory.tryDeletePassage({ agentId: agent.id, id: ids[0] as string }))).toBe(true);
    expect(await read((tx) => tx.memory.countPassageVectors({ ...key, model: 'n' }))).toBe(0);
  });

  test('passages are found by a substring, case-insensitively, without wildcards', async () => {
    const agent = await write((tx) => addAgent(tx));
    const [percent, plus, great] = await write(async (tx) => [
      await addPassage(tx, agent, 'It is 100% done_now \\o/'),
      await addPassage(tx, agent, 'Learn C++ first'),
      await addPassage(tx, agent, 'Ärger in ÖSTERREICH'),
    ]);
    const find = async (text: string) =>
      (await read((tx) => tx.memory.findPassagesContaining({ agentId: agent.id, ...EVER, text, limit: 9 }))).map(
        ({ id }) => id,
      );
    expect(await find('100%')).toEqual([percent]);
    expect(await find('E_N')).toEqual([percent]);
    expect(await find('\\O/')).toEqual([percent]);
    expect(await find('1%d')).toEqual([]);
    expect(await find('EaRN c++')).toEqual([plus]);
    expect(await find('äRGER in ö')).toEqual([great]);
    expect(await find('in')).toEqual([great]);
  });

  test('a deleted passage is not found again', async () => {
    const [agent, other] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
    const id = await write((tx) => addPassage(tx, agent, 'gone soon'));
    expect(await read((tx) => tx.memory.getPassage({ agentId: agent.id, id }))).toMatchObject({ content: 'gone soon' });
    expect(await read((tx) => tx.memory.getPassage({ agentId: other.id, id }))).toBeNull();
    expect(await write((tx) => tx.memory.tryDeletePassage({ agentId: other.id, id }))).toBe(false);
    expect(await write((tx) => tx.memory.tryDeletePassage({ agentId: agent.id, id }))).toBe(true);
    const find = { agentId: agent.id, ...EVER, terms: { words: ['gone'], phrases: [] }, limit: 9 };
    expect(await read((tx) => tx.memory.findPassages(find))).toEqual([]);
  });
}
