import { SubstratError } from '../core/errors.ts';
import type { BatchState } from './batch.ts';
import { CommitInDoubt, type WriteConnection } from './commits.ts';
import { createTx } from './create-tx.ts';
import { type Connection, NO_ANSWER, wasSilent } from './postgres-connection.ts';
import type { PostgresConnections } from './postgres-connections.ts';
import type { Execute } from './query.ts';
import type { Tx } from './store.ts';

/** One lock for all writers of all nodes, held until the commit: event numbers have no gaps and are in commit order. */
export const WRITE_LOCK = 7_331_001;

/** A connection that writes. When it is lost, the current transaction fails, and the next one gets a new connection. */
export class PostgresWriter implements WriteConnection {
  readonly batch: BatchState = { seq: 0, runnable: false };
  readonly execute: Execute = (sql, parameters) => this.#connected().execute(sql, parameters);
  readonly tx: Tx = createTx('postgres', this.execute, this.batch);
  readonly #connections: PostgresConnections;
  #connection: Connection | null = null;
  #xid: string | null = null;

  constructor(connections: PostgresConnections) {
    this.#connections = connections;
  }

  async begin(): Promise<void> {
    const before = this.#connection;
    try {
      await this.#begin();
    } catch (error) {
      // It was lost while idle: nothing has happened yet, so a new one can be used.
      if (before === null || !before.lost || wasSilent(before.lost) || this.#connection !== before) throw error;
      await this.#begin();
    }
  }

  inTransaction(): boolean {
    return this.#xid !== null && this.#connection !== null && !this.#connection.lost;
  }

  async rollback(): Promise<void> {
    this.#xid = null;
    await this.execute('rollback', []);
  }

  async commit(): Promise<void> {
    const connection = this.#connected();
    const xid = this.#xid as string;
    const { doubtMs } = this.#connections.limits;
    const silentUntil = performance.now() + doubtMs;
    const overdue = setTimeout(() => connection.cut(NO_ANSWER), doubtMs);
    this.#xid = null;
    try {
      await connection.commit();
    } catch (error) {
      if (!connection.lost) {
        await connection.execute('rollback', []);
        throw error;
      }
      // After a long silence the time limit is already used up; after a cut it starts now.
      const giveUpAt = wasSilent(connection.lost) ? silentUntil : performance.now() + doubtMs;
      throw new CommitInDoubt(this.#connections.outcomeOf({ xid, pid: connection.pid }, giveUpAt), error);
    } finally {
      clearTimeout(overdue);
    }
  }

  #connected(): Connection {
    if (this.#connection === null) throw new SubstratError('store', 'The store is not connected.');
    return this.#connection;
  }

  async #begin(): Promise<void> {
    if (this.#connection === null || this.#connection.lost) {
      this.#connection = await this.#connections.connect('writer');
    }
    await this.execute('begin', []);
    try {
      const { rows } = await this.execute(
        `select pg_current_xact_id()::text as xid from pg_advisory_xact_lock(${WRITE_LOCK})`,
        [],
      );
      this.#xid = (rows[0] as { xid: string }).xid;
    } catch (error) {
      if (!this.#connection.lost) await this.rollback();
      throw error;
    }
  }
}
