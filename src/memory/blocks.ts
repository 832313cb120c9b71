import { keyOf, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { AgentId } from '../core/ids.ts';
import { checkExpected, type Expected, MAX_BLOCK, MAX_BLOCKS, MAX_BLOCKS_TEXT } from '../core/memory.ts';
import type { BlockView } from '../store/store.ts';
import type { Tx } from './tx.ts';

/**
 * Which block to change and who changes it. Reader and author are the same for an agent; a person changes what agents
 * see.
 */
export interface Change {
  /** Whose memory it is: an agent's id, or `user`. */
  readonly readerId: string;
  readonly label: string;
  readonly by: string;
  readonly expected: Expected | null;
}

/** Sets the text of a block that the reader sees, or creates one that it owns. */
export async function writeBlock(tx: Tx, change: Change, text: string, now: number): Promise<BlockView> {
  if (text.length > MAX_BLOCK) {
    throw new SubstratError(
      'bad_request',
      `A block may have at most ${MAX_BLOCK} characters; this text has ${text.length}.`,
    );
  }
  const { readerId, label, expected } = change;
  const block = await tx.memory.getSeenBlock({ readerId, labelKey: keyOf(label) });
  checkExpected(expected, label, block?.version ?? null);
  if (block) {
    checkMayChange(block, change.by);
    return put(tx, block, text, change.by, now);
  }
  const earlier = await tx.memory.getBlockOf({ ownerId: readerId, labelKey: keyOf(label) });
  if (earlier) return put(tx, earlier, text, change.by, now);
  const id = newId();
  await tx.memory.insertBlock({
    id,
    ownerId: readerId,
    label,
    labelKey: keyOf(label),
    text,
    version: 0,
    open: false,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  });
  return put(tx, await ownBlock(tx, readerId, label), text, change.by, now);
}

/** Removes it from every prompt. Only its history remains visible, from which it can be restored. */
export async function deleteBlock(tx: Tx, change: Change, now: number): Promise<void> {
  const block = await seenBlock(tx, change.readerId, change.label);
  checkExpected(change.expected, change.label, block.version);
  checkMayChange(block, change.by);
  await put(tx, block, null, change.by, now);
}

/** Makes an earlier text the current one; a change like any other. */
export async function restoreBlock(tx: Tx, change: Change, version: number, now: number): Promise<BlockView> {
  const block = await knownBlock(tx, change.readerId, change.label);
  checkExpected(change.expected, change.label, block.deletedAt === null ? block.version : null);
  checkMayChange(block, change.by);
  const earlier = await tx.memory.getBlockChange({ blockId: block.id, version });
  if (!earlier) throw new SubstratError('not_found', `"${block.label}" does not have a version ${version}.`);
  if (earlier.text === null) {
    throw new SubstratError(
      'conflict',
      `Version ${version} of "${block.label}" is a deletion; it does not have a text to restore.`,
    );
  }
  return put(tx, block, earlier.text, change.by, now);
}

/** Sets which others see it, and whether they may change it. */
export async function shareBlock(
  tx: Tx,
  block: BlockView,
  { agentIds, open }: { readonly agentIds: readonly string[]; readonly open: boolean },
  now: number,
): Promise<BlockView> {
  const readers = [...new Set(agentIds)].filter((id) => id !== block.ownerId);
  const before = await tx.memory.listBlockReaders({ blockId: block.id });
  await tx.memory.deleteBlockReaders({ blockId: block.id });
  for (const agentId of readers) {
    if (await tx.memory.getSeenBlock({ readerId: agentId, labelKey: block.labelKey })) {
      throw new SubstratError('conflict', `One of these agents can already see another block "${block.label}".`);
    }
    await tx.memory.insertBlockReader({ blockId: block.id, agentId });
  }
  await tx.memory.setBlockOpen({ id: block.id, open });
  await checkRoom(tx, readers);
  const shared = aboutBlock(block, [...readers, ...before.map(({ id }) => id)], block.version);
  await tx.events.appendEvent({ type: 'memory_shared', at: now, ...shared });
  return { ...block, open };
}

export async function seenBlock(tx: Tx, readerId: string, label: string): Promise<BlockView> {
  const block = await tx.memory.getSeenBlock({ readerId, labelKey: keyOf(label) });
  if (!block) throw noBlock(label);
  return block;
}

/** A block that the reader sees, or its own deleted one, whose history still exists. */
export async function knownBlock(tx: Tx, readerId: string, label: string): Promise<BlockView> {
  const labelKey = keyOf(label);
  const block =
    (await tx.memory.getSeenBlock({ readerId, labelKey })) ??
    (await tx.memory.getBlockOf({ ownerId: readerId, labelKey }));
  if (!block) throw noBlock(label);
  return block;
}

/** A block may be changed by its owner, by its readers if it is open, and by the daemon's owner. */
function checkMayChange(block: BlockView, by: string): void {
  if (by === block.ownerId || by === USER_ID || block.open) return;
  throw new SubstratError('forbidden', `"${block.label}" belongs to ${block.owner}; only its owner may change it.`);
}

/** One change: the text (null deletes it), the history and the event; then checks that it fits wherever it is seen. */
async function put(tx: Tx, block: BlockView, text: string | null, by: string, now: number): Promise<BlockView> {
  const version = block.version + 1;
  const deletedAt = text === null ? now : null;
  const changed = { id: block.id, before: block.version, version, text: text ?? '', at: now, deletedAt };
  if (!(await tx.memory.tryUpdateBlock(changed))) {
    throw new SubstratError('conflict', `The block "${block.label}" was changed at the same time.`);
  }
  await tx.memory.insertBlockChange({ blockId: block.id, version, text, changedBy: by, at: now });
  const readers = (await tx.memory.listBlockReaders({ blockId: block.id })).map(({ id }) => id);
  if (text === null) await tx.memory.deleteBlockReaders({ blockId: block.id });
  else await checkRoom(tx, [block.ownerId, ...readers]);
  const { agentId, data } = aboutBlock(block, readers, version);
  const type = text === null ? 'memory_deleted' : 'memory_updated';
  await tx.events.appendEvent({ type, at: now, agentId, data: { ...data, changedBy: by } });
  return { ...block, version, text: text ?? '', updatedAt: now, deletedAt: deletedAt };
}

async function checkRoom(tx: Tx, readerIds: readonly string[]): Promise<void> {
  for (const readerId of readerIds) {
    if (readerId === USER_ID) continue;
    const blocks = await tx.memory.listSeenBlocks({ readerId });
    const size = blocks.reduce((sum, { text }) => sum + text.length, 0);
    if (blocks.length > MAX_BLOCKS) {
      throw new SubstratError('cap_reached', `An agent can see at most ${MAX_BLOCKS} blocks; delete one first.`);
    }
    if (size > MAX_BLOCKS_TEXT) {
      throw new SubstratError(
        'cap_reached',
        `The blocks an agent can see may have at most ${MAX_BLOCKS_TEXT} characters in total; shorten some, or store passages.`,
      );
    }
  }
}

/** Events say that a block changed and where, never its text: texts are read where readers are checked. */
function aboutBlock(block: BlockView, recipients: readonly AgentId[], version: number) {
  const agentId = block.ownerId === USER_ID ? null : (block.ownerId as AgentId);
  const data = {
    ...(agentId && { agentId }),
    owner: block.owner,
    label: block.label,
    recipients: [...recipients],
    version,
  };
  return { agentId, data };
}

async function ownBlock(tx: Tx, ownerId: string, label: string): Promise<BlockView> {
  return (await tx.memory.getBlockOf({ ownerId, labelKey: keyOf(label) })) as BlockView;
}

function noBlock(label: string): SubstratError {
  return new SubstratError('not_found', `There is no block "${label}".`);
}
