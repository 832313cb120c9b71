import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './query.ts';

/** A list of keys as one parameter, so that a query is compiled once for all lengths. */
export function listOf(engine: Engine, keys: readonly number[] | readonly string[]): string {
  return engine === 'sqlite' ? JSON.stringify(keys) : `{${keys.map(quoted).join(',')}}`;
}

/** Whether a column contains one of them. */
export function isOneOf(
  engine: Engine,
  column: string,
  list: unknown,
  type: 'bigint' | 'text' = 'bigint',
): RawBuilder<boolean> {
  if (engine === 'sqlite') return sql`${sql.ref(column)} in (select value from json_each(${list}))`;
  return sql`${sql.ref(column)} = any(${list}::${sql.raw(type)}[])`;
}

/** An element in PostgreSQL's array literal syntax. */
function quoted(key: string | number): string {
  return `"${String(key).replaceAll(/["\\]/g, '\\$&')}"`;
}
