import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Block } from '../core/memory.ts';
import { addAgent, type StoreKit } from './store.testkit.ts';
import type { Tx } from './store.ts';

export function testMemory({ read, write }: StoreKit): void {
  const EVER = { tag: null, since: 0, until: Number.MAX_SAFE_INTEGER };

  const addBlock = async (tx: Tx, ownerId: string, label: string, change: Partial<Block> = {}) => {
    const id = randomUUID();
    const row = { id, ownerId, label, labelKey: label.toLowerCase(), text: 'old', version: 1, open: false };
    const block: Block = { ...row, createdAt: 1, updatedAt: 1, deletedAt: null, ...change };
    await tx.memory.insertBlock(block);
    await tx.memory.insertBlockChange({ blockId: id, version: 1, text: block.text, changedBy: ownerId, at: 1 });
    return block;
  };

  const addPassage = async (tx: Tx, agent: Agent, content: string, change: { at?: number; tags?: string[] } = {}) => {
    const id = randomUUID();
    const seq = await tx.events.appendEvent({
      type: 'passage_stored',
      at: 1,
      data: { agentId: agent.id, passageId: id },
    });
    const small = content.toLowerCase();
    await tx.memory.insertPassage({
      agentId: agent.id,
      seq,
      id,
      content,
      folded: /[^\0-\x7f]/.test(content) ? small : null,
      tags: change.tags ?? [],
      createdAt: change.at ?? 1,
      words: small.split(' ').map((word) => word.replace(/[^a-z0-9]/g, 'x')),
    });
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
    expect(await ids({ tag: 'y' })).toEqual([c, a]);
    expect(await ids({ tag: 'z' })).toEqual([]);
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
      (await read((tx) => tx.memory.findPassages({ agentId: agent.id, ...EVER, words, limit: 9, ...change }))).map(
        ({ id }) => id,
      );
    const found = await find(['apple', 'pear']);
    expect(found[0]).toBe(both);
    expect(new Set(found)).toEqual(new Set([apple, both, pear, second]));
    expect(found.indexOf(second as string)).toBeLessThan(found.indexOf(apple as string));
    expect(await find(['apple', 'pear'], { limit: 1 })).toEqual([both]);
    expect(await find(['apple', 'pear'], { limit: 1, tag: 'fruit' })).toEqual([both]);
    expect(await find(['apple'], { since: 5 })).toEqual([second]);
    expect(await find(['apple'], { tag: 'fruit' })).toEqual([both]);
    expect(await find(['nothing'])).toEqual([]);
    expect(await find(['or', 'not', 'near', 'and'])).toEqual([]);
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
    const find = { agentId: agent.id, ...EVER, words: ['gone'], limit: 9 };
    expect(await read((tx) => tx.memory.findPassages(find))).toEqual([]);
  });
}
