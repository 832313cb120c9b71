import type { Result } from './query.ts';
import { about } from './statement.ts';

/** Runs one statement on a connection that answers at once. */
export type ExecuteNow = (sql: string, parameters: readonly unknown[]) => Result;

/** Nearly every write reads rows of these tables, and few change them: they stay known after the transaction. */
const KEPT: ReadonlySet<string> = new Set(['agents', 'channels', 'members', 'participants', 'runs']);

/** Enough for the agents that talk at the same time, and little memory. */
const MOST_READS = 256;
const MOST_ROWS = 16;
const LONGEST_PARAMETER = 200;

/** What a statement returned, by its parameters. */
interface Memory {
  readonly kept: boolean;
  readonly results: Map<unknown, Result>;
}

/**
 * A repeated read of unchanged tables returns what the last one did: rules that know nothing of each other read the
 * same rows. Only for a connection whose rows nobody else changes during a transaction; `version` tells whether
 * somebody did since the last one.
 */
export function remembered(execute: ExecuteNow, version: () => unknown): ExecuteNow {
  const memories = new Map<string, Memory>();
  const byTable = new Map<string, Memory[]>();
  let seen: unknown;

  const memoryOf = (sql: string, tables: ReadonlySet<string>): Memory => {
    let memory = memories.get(sql);
    if (!memory) {
      memory = { kept: tables.size > 0 && [...tables].every((table) => KEPT.has(table)), results: new Map() };
      memories.set(sql, memory);
      for (const table of tables) byTable.set(table, [...(byTable.get(table) ?? []), memory]);
    }
    return memory;
  };
  const forget = (which: Iterable<Memory>): void => {
    for (const { results } of which) if (results.size > 0) results.clear();
  };
  const forgetAll = (): void => {
    memories.clear();
    byTable.clear();
  };
  const endTransaction = (): void => {
    for (const memory of memories.values()) if (!memory.kept) memory.results.clear();
  };

  const change = (sql: string, parameters: readonly unknown[], changed: ReadonlySet<string>): Result => {
    const result = execute(sql, parameters);
    if (changed.size > 0) {
      if (result.changes > 0) for (const table of changed) forget(byTable.get(table) ?? []);
    } else if (sql === 'begin immediate') {
      const found = version();
      if (found !== seen) forgetAll();
      seen = found;
    } else if (sql === 'commit') endTransaction();
    else if (!/^(release )?savepoint /.test(sql)) forgetAll();
    return result;
  };

  return (sql, parameters) => {
    const { read, tables, changed } = about(sql);
    try {
      if (!read) return change(sql, parameters, changed);
      const key = keyOf(parameters);
      if (key === undefined) return execute(sql, parameters);
      const { results } = memoryOf(sql, tables);
      const last = results.get(key);
      if (last) return last;
      const result = execute(sql, parameters);
      if (results.size >= MOST_READS) results.clear();
      if (result.rows.length <= MOST_ROWS) results.set(key, result);
      return result;
    } catch (error) {
      // It may have ended the transaction.
      forgetAll();
      throw error;
    }
  };
}

/** Differs for other parameters of the same statement; undefined for large ones. */
function keyOf(parameters: readonly unknown[]): unknown {
  for (const value of parameters) {
    if (typeof value === 'object' && value !== null) return;
    if (typeof value === 'string' && value.length > LONGEST_PARAMETER) return;
  }
  return parameters.length === 1 ? parameters[0] : JSON.stringify(parameters);
}
