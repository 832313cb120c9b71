import type { Result } from './query.ts';
import { about } from './statement.ts';

/** Runs one statement on a connection that answers at once. */
export type ExecuteNow = (sql: string, parameters: readonly unknown[]) => Result;

/**
 * Within a transaction, a repeated read of unchanged tables returns what the last one did: rules that know nothing of
 * each other read the same rows. Only for a connection whose rows nobody else can change meanwhile.
 */
export function remembered(execute: ExecuteNow): ExecuteNow {
  /** The last read of each statement. */
  const reads = new Map<string, { readonly parameters: readonly unknown[]; readonly result: Result }>();
  return (sql, parameters) => {
    const { read, changed } = about(sql);
    if (!read) {
      forget(reads, changed);
      return execute(sql, parameters);
    }
    const last = reads.get(sql);
    if (last && isSame(last.parameters, parameters)) return last.result;
    const result = execute(sql, parameters);
    reads.set(sql, { parameters, result });
    return result;
  };
}

/** A statement that changes no table begins or ends a transaction, or a part of one. */
function forget(reads: Map<string, unknown>, changed: ReadonlySet<string>): void {
  if (changed.size === 0) reads.clear();
  for (const sql of reads.keys()) {
    const { tables } = about(sql);
    for (const table of changed) if (tables.has(table)) reads.delete(sql);
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
