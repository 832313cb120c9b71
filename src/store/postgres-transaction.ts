import { COMMIT, type Connection, checkCommitted } from './postgres-connection.ts';
import type { FlightResult, Statement } from './postgres-flight.ts';
import type { Execute, Result } from './query.ts';
import { about } from './statement.ts';

interface Waiting extends Statement {
  readonly done?: ((result: Result) => void) | undefined;
}

/**
 * The statements of one transaction, in as few round trips as possible: what nobody waits for travels with the next
 * statement that somebody waits for, those that are waited for at the same time travel together, and a repeated read
 * of unchanged tables is not sent again.
 */
export class PostgresTransaction {
  readonly execute: Execute = Object.assign(
    (sql: string, parameters: readonly unknown[]) => this.#execute(sql, parameters),
    {
      later: (sql: string, parameters: readonly unknown[], done?: (result: Result) => void) => {
        this.#forget(sql);
        this.#waiting.push({ sql, parameters, done });
      },
      last: (sql: string, parameters: readonly unknown[]) => void this.#last.push({ sql, parameters }),
    },
  );
  #connection: Connection | null = null;
  #waiting: Waiting[] = [];
  #last: Statement[] = [];
  /** Departs once everything that is asked for at this moment has been added. */
  #boarding: (Waiting & { readonly settle: PromiseWithResolvers<FlightResult> })[] = [];
  #sent: Promise<FlightResult>[] = [];
  #read = new Map<string, { readonly tables: ReadonlySet<string>; readonly result: Promise<Result> }>();
  /** The first error of the transaction; the later ones only say that there was one. */
  failure: unknown = null;

  begin(connection: Connection, isolation: 'read committed' | 'repeatable read'): void {
    this.#connection = connection;
    this.#waiting = [];
    this.#last = [];
    this.#boarding = [];
    this.#sent = [];
    this.#read.clear();
    this.failure = null;
    this.#waiting.push({ sql: `begin isolation level ${isolation}`, parameters: [] });
  }

  /** Sends everything that waits, and the commit behind it. */
  async commit(): Promise<void> {
    this.#waiting.push(...this.#last.splice(0), ...COMMIT);
    this.#board();
    this.#depart();
    const sent = await Promise.allSettled(this.#sent);
    if (this.failure !== null) throw this.failure;
    const committed = sent.at(-1);
    checkCommitted(committed?.status === 'fulfilled' ? committed.value : undefined);
  }

  /** What waits is not sent at all. */
  async rollback(): Promise<void> {
    const connection = this.#connection as Connection;
    this.#depart();
    if (!connection.lost && this.#sent.length > 0)
      await Promise.resolve(connection.execute('rollback', [])).catch(() => {});
    await Promise.allSettled(this.#sent);
  }

  #execute(sql: string, parameters: readonly unknown[]): Promise<Result> {
    if (!about(sql).read) {
      this.#forget(sql);
      this.#board();
      return this.#send({ sql, parameters });
    }
    const key = `${sql} ${JSON.stringify(parameters)}`;
    const known = this.#read.get(key);
    if (known) return known.result;
    this.#board();
    const result = this.#send({ sql, parameters });
    this.#read.set(key, { tables: about(sql).tables, result });
    return result;
  }

  #board(): void {
    for (const statement of this.#waiting.splice(0)) void this.#send(statement);
  }

  #send(statement: Waiting): Promise<FlightResult> {
    // After everything that was asked for without waiting for the server in between.
    if (this.#boarding.length === 0) process.nextTick(() => this.#depart());
    const settle = Promise.withResolvers<FlightResult>();
    this.#boarding.push({ ...statement, settle });
    this.#sent.push(settle.promise);
    settle.promise.catch(() => {});
    return settle.promise;
  }

  #depart(): void {
    const flight = this.#boarding.splice(0);
    if (flight.length === 0) return;
    (this.#connection as Connection).send(flight).then(
      (results) => {
        for (const [i, { done, settle }] of flight.entries()) {
          const result = results[i] as FlightResult;
          done?.(result);
          settle.resolve(result);
        }
      },
      (error) => {
        this.failure ??= error;
        for (const { settle } of flight) settle.reject(error);
      },
    );
  }

  /** What was read of a table is out of date once the table changes. */
  #forget(sql: string): void {
    const { changed } = about(sql);
    for (const [key, { tables }] of this.#read) {
      if ([...changed].some((table) => tables.has(table))) this.#read.delete(key);
    }
  }
}
