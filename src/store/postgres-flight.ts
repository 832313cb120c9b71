import pg from 'pg';
import type { Result } from './query.ts';

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** What a connection knows of a statement that it has prepared. */
interface Prepared {
  readonly name: string;
  columns: readonly Column[] | null;
}

interface Column {
  readonly name: string;
  readonly parse: (value: string) => unknown;
}

export interface FlightResult extends Result {
  /** The first word of the server's answer: COMMIT, ROLLBACK, INSERT. */
  readonly command: string;
}

/** The statements that one connection has prepared. Behind a pooler there are none: each transaction has another session. */
export class PreparedStatements {
  readonly #known = new Map<string, Prepared>();
  #named = 0;

  get(sql: string): Prepared | undefined {
    return this.#known.get(sql);
  }

  add(sql: string): Prepared {
    // With its first word, so that it can be recognized on the wire.
    const prepared = { name: `q${this.#named} ${sql.split(' ', 1)}`, columns: null };
    this.#named += 1;
    this.#known.set(sql, prepared);
    return prepared;
  }

  /** Whether the server has prepared it is not known: the next use prepares it under a new name. */
  forget(sql: string): void {
    this.#known.delete(sql);
  }
}

/**
 * Statements that travel together: the server answers all of them at once, and executes none behind one that failed.
 * A query of `pg` is answered by itself, which costs the server and this process a system call and a wakeup each.
 * Columns are described only at a statement's first use: if they change, the server refuses the prepared statement.
 */
export class Flight extends pg.Query {
  readonly landed: Promise<readonly FlightResult[]>;
  readonly #statements: readonly Statement[];
  readonly #prepared: PreparedStatements | null;
  readonly #types: pg.CustomTypesConfig;
  readonly #settle = Promise.withResolvers<readonly FlightResult[]>();
  /** Of each statement; null if it is yet to be described. */
  readonly #columns: (readonly Column[] | null)[] = [];
  /** First used here. */
  readonly #fresh = new Set<string>();
  readonly #results: FlightResult[] = [];
  #rows: Record<string, unknown>[] = [];

  constructor(statements: readonly Statement[], prepared: PreparedStatements | null, types: pg.CustomTypesConfig) {
    super('');
    this.#statements = statements;
    this.#prepared = prepared;
    this.#types = types;
    this.landed = this.#settle.promise;
  }

  override submit = (connection: pg.Connection): void => {
    connection.stream.cork();
    try {
      for (const statement of this.#statements) this.#send(connection, statement);
    } finally {
      connection.sync();
      connection.stream.uncork();
    }
  };

  #send(connection: pg.Connection, { sql, parameters }: Statement): void {
    let prepared = this.#prepared?.get(sql);
    if (!prepared) {
      prepared = this.#prepared?.add(sql) ?? { name: '', columns: null };
      this.#fresh.add(sql);
      connection.parse({ name: prepared.name, text: sql, types: [] }, true);
    }
    this.#columns.push(prepared.columns);
    connection.bind({ portal: '', statement: prepared.name, values: parameters.map(wire) }, true);
    if (prepared.columns === null) connection.describe({ type: 'P', name: '' }, true);
    connection.execute({ portal: '' }, true);
  }

  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    this.#describe(
      fields.map(({ name, dataTypeID }) => ({ name, parse: this.#types.getTypeParser(dataTypeID, 'text') })),
    );
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    for (const [i, { name, parse }] of (this.#columns[this.#results.length] ?? []).entries()) {
      const value = fields[i] ?? null;
      row[name] = value === null ? null : parse(value);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // It was described, and has no rows.
    if (this.#columns[this.#results.length] === null) this.#describe([]);
    const [command = '', ...numbers] = text.split(' ');
    this.#fresh.delete(this.#current());
    this.#results.push({ rows: this.#rows, changes: Number(numbers.at(-1)) || 0, command });
    this.#rows = [];
  }

  handleError(error: Error): void {
    for (const sql of this.#fresh) this.#prepared?.forget(sql);
    this.#settle.reject(error);
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#results);
  }

  #describe(columns: readonly Column[]): void {
    this.#columns[this.#results.length] = columns;
    const prepared = this.#prepared?.get(this.#current());
    if (prepared) prepared.columns = columns;
  }

  #current(): string {
    return this.#statements[this.#results.length]?.sql ?? '';
  }
}

/** As text, as all parameters are sent; bytes stay bytes. */
function wire(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return `{${value.map(element).join()}}`;
  return String(value);
}

function element(value: unknown): string {
  return value === null ? 'NULL' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`;
}
