import type { AgentId } from './ids.ts';
import { canonicalJson } from './text.ts';

/** A field as it was last applied: what the file said, null if nothing, and what the object had then. */
export interface AppliedField {
  readonly file: unknown;
  readonly value: unknown;
}

export type Applied = Readonly<Record<string, AppliedField>>;

/** A table of the configuration and what was made from it. Its key is the table's name for life. */
export interface Configured {
  readonly kind: 'member' | 'channel' | 'file';
  readonly key: string;
  /** The agent of a member; null if it was deleted. */
  readonly agentId: AgentId | null;
  readonly applied: Applied;
  readonly at: number;
}

/**
 * What applying a field means. `same`: the file did not change. `noted`: the object has that value already. `set`: only
 * the file changed. `conflict`: people changed it, too. `dropped`: the file no longer says it.
 */
export type Verdict = 'same' | 'noted' | 'set' | 'conflict' | 'dropped';

/** People's changes hold until the file changes; if both changed, nothing is overwritten. */
export function decide(file: unknown, applied: AppliedField | undefined, current: unknown): Verdict {
  const said = applied?.file ?? null;
  if (file === null) return said === null ? 'same' : 'dropped';
  if (isEqual(file, said)) return 'same';
  if (isEqual(file, current)) return 'noted';
  return applied === undefined || isEqual(current, applied.value) ? 'set' : 'conflict';
}

export function isEqual(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
