import { keyOf, USER_ID } from '../core/agent.ts';
import { type Applied, decide } from '../core/configured.ts';
import type { ApplyItem } from '../http/api.ts';
import { writeBlock } from '../memory/blocks.ts';
import type { Tx } from '../store/store.ts';
import { show } from './member-fields.ts';

interface BlockPlan {
  readonly items: readonly Omit<ApplyItem, 'kind' | 'name'>[];
  /** The texts to write, by label. */
  readonly texts: ReadonlyMap<string, string>;
  readonly applied: Applied;
}

/** A block that the agent, or anybody else, has changed is never overwritten by the file. */
export async function planBlocks(
  tx: Tx,
  agentId: string,
  blocks: Readonly<Record<string, string>>,
  earlier: Applied,
  /** Blocks that exist already are taken as they are. */
  adopts = false,
): Promise<BlockPlan> {
  const items: Omit<ApplyItem, 'kind' | 'name'>[] = [];
  const texts = new Map<string, string>();
  const applied: Record<string, Applied[string]> = {};
  for (const [label, text] of Object.entries(blocks)) {
    const field = `blocks.${label}`;
    const before = earlier[field];
    const block = await tx.memory.getBlockOf({ ownerId: agentId, labelKey: keyOf(label) });
    // A block that was deleted was changed.
    const current = block === null ? null : block.deletedAt === null ? block.text : undefined;
    const verdict = decide(text, before ?? { file: null, value: null }, current ?? '');
    if (adopts && block !== null && before === undefined) {
      applied[field] = { file: text, value: text };
      continue;
    }
    const isNew = block === null && before === undefined;
    if (isNew || (verdict === 'set' && block !== null)) {
      texts.set(label, text);
      items.push({ action: 'change', field, from: show(current ?? null), to: show(text), note: null });
    } else if (verdict === 'conflict' || verdict === 'set') {
      const note = 'changed in the file and by the agent or a person; a block that was learned stays';
      items.push({ action: 'conflict', field, from: show(current ?? null), to: show(text), note });
    }
    const isApplied = isNew || verdict === 'noted' || (verdict === 'set' && block !== null);
    const kept = isApplied ? { file: text, value: text } : before;
    if (kept) applied[field] = kept;
  }
  return { items, texts, applied };
}

export async function writeBlocks(tx: Tx, agentId: string, texts: BlockPlan['texts'], now: number): Promise<void> {
  for (const [label, text] of texts) {
    await writeBlock(tx, { readerId: agentId, label, by: USER_ID, expected: null }, text, now);
  }
}
