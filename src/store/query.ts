import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  type LimitNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from 'kysely';
import { SubstratError } from '../core/errors.ts';
import { encode, recordsOf, snakeCase } from './columns.ts';
import type { Schema } from './schema.ts';

export type Engine = 'sqlite' | 'postgres';

export interface Result {
  readonly rows: readonly unknown[];
  readonly changes: number;
}

/** Runs one compiled statement on its connection. */
export interface Execute {
  (sql: string, parameters: readonly unknown[]): Result | Promise<Result>;
  /**
   * Where each wait for the server counts: runs a statement whose result decides nothing, in its place among the
   * others, but is sent only with the next one that is waited for, at the latest with the commit. If it fails, so
   * does the transaction.
   */
  readonly later?: (sql: string, parameters: readonly unknown[], done?: (result: Result) => void) => void;
  /** The same, but sent after all others, just before the commit. */
  readonly last?: (sql: string, parameters: readonly unknown[]) => void;
}

interface Compilable<R> {
  compile(): CompiledQuery<R>;
}

/**
 * Kysely is the only query language. `all`, `one` and `run` take a query with named holes, compile it on first use
 * and then only fill the holes: building and compiling a query each time costs more than SQLite needs to execute it.
 */
export interface Queries {
  readonly engine: Engine;
  /** Whether this is a transaction whose statements can wait for the next one. */
  readonly writes: boolean;
  readonly db: Kysely<Schema>;
  /** All rows. */
  all<R>(build: () => Compilable<R>): () => Promise<R[]>;
  all<P extends object, R>(build: (p: P) => Compilable<R>): (params: P) => Promise<R[]>;
  /** The first row, or null. */
  one<R>(build: () => Compilable<R>): () => Promise<R | null>;
  one<P extends object, R>(build: (p: P) => Compilable<R>): (params: P) => Promise<R | null>;
  /** The only column of the first row, or null. */
  value<V>(build: () => Compilable<Readonly<Record<string, V>>>): () => Promise<V | null>;
  value<P extends object, V>(
    build: (p: P) => Compilable<Readonly<Record<string, V>>>,
  ): (params: P) => Promise<V | null>;
  /** The only column of the first row, a number; 0 without a row. */
  count(build: () => Compilable<Readonly<Record<string, number>>>): () => Promise<number>;
  count<P extends object>(
    build: (p: P) => Compilable<Readonly<Record<string, number>>>,
  ): (params: P) => Promise<number>;
  /** The number of changed rows. */
  run(build: () => Compilable<unknown>): () => Promise<number>;
  run<P extends object>(build: (p: P) => Compilable<unknown>): (params: P) => Promise<number>;
  /** Inserts or upserts, or changes what may not exist; the caller does not need to know whether it did. */
  put<P extends object>(build: (p: P) => Compilable<unknown>): (params: P) => Promise<void>;
  /** Changes something that must exist: throws if no row matched, where statements can wait at the latest at the commit. */
  change<P extends object>(what: string, build: (p: P) => Compilable<unknown>): (params: P) => Promise<void>;
  /** The same, where possible after everything else in the transaction. */
  append<P extends object>(build: (p: P) => Compilable<unknown>): (params: P) => Promise<void>;
  /** The same; `changed` is called once it is known that rows were changed, at the latest before the commit returns. */
  putAnd<P extends object>(
    build: (p: P) => Compilable<unknown>,
    changed: (params: P) => void,
  ): (params: P) => Promise<void>;
  /** The same, with an error of its own. */
  must<P extends object>(
    build: (p: P) => Compilable<unknown>,
    otherwise: (params: P) => SubstratError,
  ): (params: P) => Promise<void>;
  /** Changes something that may not exist, or no longer be as expected. Returns whether a row matched. */
  attempt<P extends object>(build: (p: P) => Compilable<unknown>): (params: P) => Promise<boolean>;
  /** For queries whose shape depends on the arguments. */
  fetch<R>(query: Compilable<R>): Promise<R[]>;
}

export function createQueries(engine: Engine, execute: Execute): Queries {
  const mode: CompileMode = { literal: false };
  const db = createBuilder(engine, mode);
  const compileOnce = <P extends object>(build: (p: P) => Compilable<unknown>) => {
    let compiled: CompiledQuery | null = null;
    return () => {
      if (compiled) return compiled;
      mode.literal = true;
      try {
        compiled = build(holes as P).compile();
      } finally {
        mode.literal = false;
      }
      return compiled;
    };
  };
  const prepare = <P extends object>(build: (p: P) => Compilable<unknown>) => {
    const compiled = compileOnce(build);
    return (params: P): Result | Promise<Result> => {
      const { sql, parameters } = compiled();
      return execute(sql, fill(parameters, params));
    };
  };
  const { later, last } = execute;
  const queued = <P extends object>(build: (p: P) => Compilable<unknown>, send: typeof last) => {
    if (!send) {
      const query = prepare<P>(build);
      return async (params: P) => void (await query(params));
    }
    const compiled = compileOnce(build);
    return async (params: P) => send(compiled().sql, fill(compiled().parameters, params));
  };
  const onlyValue = (rows: readonly unknown[]): unknown =>
    rows.length === 0 ? null : (Object.values(rows[0] as Record<string, unknown>)[0] ?? null);
  const queries = {
    engine,
    writes: later !== undefined,
    db,
    all: <P extends object, R>(build: (p: P) => Compilable<R>) => {
      const query = prepare<P>(build);
      return async (params: P) => recordsOf<R>((await query(params)).rows);
    },
    one: <P extends object, R>(build: (p: P) => Compilable<R>) => {
      const query = prepare<P>(build);
      return async (params: P) => recordsOf<R>((await query(params)).rows)[0] ?? null;
    },
    value: <P extends object>(build: (p: P) => Compilable<unknown>) => {
      const query = prepare<P>(build);
      return async (params: P) => onlyValue((await query(params)).rows);
    },
    count: <P extends object>(build: (p: P) => Compilable<unknown>) => {
      const query = prepare<P>(build);
      return async (params: P) => Number(onlyValue((await query(params)).rows));
    },
    run: <P extends object>(build: (p: P) => Compilable<unknown>) => {
      const query = prepare<P>(build);
      return async (params: P) => (await query(params)).changes;
    },
    put: <P extends object>(build: (p: P) => Compilable<unknown>) => queued(build, later),
    append: <P extends object>(build: (p: P) => Compilable<unknown>) => queued(build, last),
    putAnd: <P extends object>(build: (p: P) => Compilable<unknown>, changed: (params: P) => void) => {
      if (!later) {
        const query = prepare<P>(build);
        return async (params: P) => {
          if ((await query(params)).changes > 0) changed(params);
        };
      }
      const compiled = compileOnce(build);
      return async (params: P) =>
        later(compiled().sql, fill(compiled().parameters, params), ({ changes }) => {
          if (changes > 0) changed(params);
        });
    },
    change: <P extends object>(what: string, build: (p: P) => Compilable<unknown>) => {
      return queries.must(build, (params) => new SubstratError('not_found', `There is no ${what}${named(params)}.`));
    },
    must: <P extends object>(build: (p: P) => Compilable<unknown>, otherwise: (params: P) => SubstratError) => {
      if (!later) {
        const query = prepare<P>(build);
        return async (params: P) => {
          if ((await query(params)).changes === 0) throw otherwise(params);
        };
      }
      const compiled = compileOnce(build);
      return async (params: P) => {
        const { sql, parameters } = compiled();
        const { code, message } = otherwise(params);
        const [n, m] = [parameters.length + 1, parameters.length + 2];
        const checked = `with changed as (${sql} returning 1) select must_change(count(*), $${n}, $${m}) from changed`;
        later(checked, [...fill(parameters, params), code, message]);
      };
    },
    attempt: <P extends object>(build: (p: P) => Compilable<unknown>) => {
      const query = prepare<P>(build);
      return async (params: P) => (await query(params)).changes > 0;
    },
    fetch: async <R>(query: Compilable<R>) => {
      const { sql, parameters } = query.compile();
      return recordsOf<R>((await execute(sql, parameters.map(encode))).rows);
    },
  };
  return queries as Queries;
}

function named(params: object): string {
  return 'id' in params ? ` ${String(params.id)}` : ' like that';
}

class Hole {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A hole named after whatever property is read: this is `p.id` while a query is being built. */
const holes = new Proxy({}, { get: (_, name) => new Hole(String(name)) });

function fill(parameters: readonly unknown[], params: object): unknown[] {
  return parameters.map((value) => {
    if (!(value instanceof Hole)) return encode(value);
    const given = (params as Record<string, unknown>)[value.name];
    if (given === undefined) throw new TypeError(`the query needs "${value.name}"`);
    return encode(given);
  });
}

/**
 * In a prepared query, everything except holes is a constant and stays in the text, because a partial index must see
 * it.
 */
interface CompileMode {
  literal: boolean;
}

/** Kysely only builds and compiles here; the store's own connections execute, because they share commits. */
function createBuilder(engine: Engine, mode: CompileMode): Kysely<Schema> {
  if (engine === 'sqlite') {
    return new Kysely({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteCompiler(mode),
      },
    });
  }
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresCompiler(mode),
    },
  });
}

class SqliteCompiler extends SqliteQueryCompiler {
  readonly #mode: CompileMode;
  constructor(mode: CompileMode) {
    super();
    this.#mode = mode;
  }
  protected override sanitizeIdentifier(identifier: string): string {
    return super.sanitizeIdentifier(snakeCase(identifier));
  }
  protected override appendValue(value: unknown): void {
    if (this.#mode.literal && !(value instanceof Hole)) this.appendImmediateValue(encode(value));
    else super.appendValue(value);
  }
  /** SQLite plans a statement again each time its limit is bound, which takes longer than most reads. A term hides it. */
  protected override visitLimit(node: LimitNode): void {
    super.visitLimit(node);
    const isBound = ValueNode.is(node.limit) && (!this.#mode.literal || node.limit.value instanceof Hole);
    if (isBound) this.append(' + 0');
  }
}

class PostgresCompiler extends PostgresQueryCompiler {
  readonly #mode: CompileMode;
  constructor(mode: CompileMode) {
    super();
    this.#mode = mode;
  }
  protected override sanitizeIdentifier(identifier: string): string {
    return super.sanitizeIdentifier(snakeCase(identifier));
  }
  protected override appendValue(value: unknown): void {
    if (this.#mode.literal && !(value instanceof Hole)) this.appendImmediateValue(encode(value));
    else super.appendValue(value);
  }
}
