import { type ErrorCode, SubstratError } from '../core/errors.ts';
import type { BatchState } from './batch.ts';
import { storeError } from './commit-errors.ts';
import { createTx } from './create-tx.ts';
import { type Connection, NO_ANSWER, timeoutsOf, wasSilent } from './postgres-connection.ts';
import {
  type CommitOutcome,
  IDENTITY,
  type PostgresConnections,
  type TransactionIdentity,
  XID,
} from './postgres-connections.ts';
import { EVERYTHING, WRITE_LOCK } from './postgres-locks.ts';
import { PostgresTransaction } from './postgres-transaction.ts';
import type { Tx } from './store.ts';

/** How one execution of a write ended. */
export type Attempted =
  | { readonly as: 'committed'; readonly value: unknown; readonly batch: Readonly<BatchState> }
  | { readonly as: 'failed'; readonly error: unknown }
  /** Nothing happened, and the same write can succeed: with more locks, or after whatever came in between. */
  | { readonly as: 'again'; readonly missing: readonly string[]; readonly error: unknown; readonly duplicate?: boolean }
  /** The connection was lost during the commit. */
  | {
      readonly as: 'doubtful';
      readonly value: unknown;
      readonly batch: Readonly<BatchState>;
      readonly outcome: Promise<CommitOutcome>;
      readonly error: unknown;
    };

/** A connection that writes, one transaction at a time. When it is lost, the next transaction gets a new one. */
export class PostgresWriter {
  readonly #connections: PostgresConnections;
  readonly #batch: BatchState = { seq: 0, events: 0, runnable: false };
  readonly #transaction = new PostgresTransaction();
  readonly #tx: Tx = createTx('postgres', this.#transaction.execute, this.#batch);
  /** Behind a pooler, sets the timeouts of the transaction. */
  readonly #settings: string;
  #connection: Connection | null = null;
  /** What stays the same while the connection lasts. Behind a pooler nothing does. */
  #session: Omit<TransactionIdentity, 'xid'> | null = null;

  constructor(connections: PostgresConnections) {
    this.#connections = connections;
    this.#settings = connections.pooled
      ? Object.entries(timeoutsOf(connections.limits))
          .map(([name, ms]) => `, set_config('${name}', '${ms}', true)`)
          .join('')
      : '';
  }

  async attempt(work: (tx: Tx) => Promise<unknown>, locks: ReadonlySet<string>): Promise<Attempted> {
    const used = this.#connection !== null && !this.#connection.lost;
    if (!used) {
      this.#session = null;
      try {
        this.#connection = await this.#connections.connect('writer');
      } catch (error) {
        return { as: 'failed', error };
      }
    }
    const connection = this.#connection as Connection;
    Object.assign(this.#batch, { events: 0, runnable: false });
    // A writer that waited for a lock must see what was committed meanwhile. Without locks, it sees one snapshot: what
    // is decided without a change of anything guarded was right at that moment.
    this.#transaction.begin(connection, locks.size > 0 ? 'read committed' : 'repeatable read');
    const identity = this.#lock(locks);
    let value: unknown;
    try {
      value = await work(this.#tx);
    } catch (error) {
      // The first statement was never answered: the connection was lost while nobody used it.
      const idle = used && connection.lost !== null && !wasSilent(connection.lost) && !(await answered(identity));
      await this.#transaction.rollback();
      return idle ? { as: 'again', missing: [], error } : this.#ended(this.#transaction.failure ?? error);
    }
    if (!(await answered(identity)) || this.#transaction.failure !== null) {
      const idle = used && connection.lost !== null && !wasSilent(connection.lost) && !(await answered(identity));
      const { failure } = this.#transaction;
      await this.#transaction.rollback();
      return idle ? { as: 'again', missing: [], error: failure } : this.#ended(storeError(failure), failure);
    }
    return this.#commit(connection, await identity, value);
  }

  /**
   * Everything is locked at once and in one order, so writers never wait for each other in a circle. One statement, whose
   * columns the server evaluates from left to right.
   */
  #lock(locks: ReadonlySet<string>): Promise<TransactionIdentity> {
    const all = locks.has(EVERYTHING);
    const names = all ? [] : [...locks];
    const lockNames =
      names.length === 1
        ? ', pg_advisory_xact_lock(hashtextextended($2, 0))'
        : `, (select count(pg_advisory_xact_lock(key)) from (
             select distinct hashtextextended(name, 0) as key from unnest($2::text[]) as name order by key) as keys)`;
    const session = this.#session;
    const begun = this.#transaction.execute(
      `select pg_advisory_xact_lock${all ? '' : '_shared'}(${WRITE_LOCK}), set_config('substrat.locks', $1, true),
         ${session ? XID : IDENTITY}${this.#settings}${names.length === 0 ? '' : lockNames}`,
      [all ? EVERYTHING : ` ${names.join(' ')} `, ...(names.length > 1 ? [names] : names)],
    );
    const identified = Promise.resolve(begun).then(({ rows }) => {
      const identity = { ...session, ...(rows[0] as TransactionIdentity) };
      if (!this.#connections.pooled) this.#session = { pid: identity.pid, life: identity.life };
      return identity;
    });
    identified.catch(() => {});
    return identified;
  }

  async #commit(connection: Connection, identity: TransactionIdentity, value: unknown): Promise<Attempted> {
    const { doubtMs } = this.#connections.limits;
    const silentUntil = performance.now() + doubtMs;
    const overdue = setTimeout(() => connection.cut(NO_ANSWER), doubtMs);
    const batch = this.#batch;
    try {
      await this.#transaction.commit();
      return { as: 'committed', value, batch: { ...batch } };
    } catch (error) {
      if (!connection.lost) {
        await this.#transaction.rollback();
        return this.#ended(storeError(error), error);
      }
      // After a long silence the time limit is already used up; after a cut it starts now.
      const giveUpAt = wasSilent(connection.lost) ? silentUntil : performance.now() + doubtMs;
      const outcome = this.#connections.outcomeOf(identity, giveUpAt);
      // Whether a run became ready is not known of a statement whose answer was lost.
      return { as: 'doubtful', value, batch: { ...batch, runnable: true }, outcome, error };
    } finally {
      clearTimeout(overdue);
    }
  }

  /** `cause` is what the server said. */
  #ended(error: unknown, cause: unknown = error): Attempted {
    const { code, message, detail = '' } = causeOf(cause) as { code?: string; message: string; detail?: string };
    if (code === 'SU001') return { as: 'again', missing: detail.split(' '), error };
    if (code === 'SU404') return { as: 'failed', error: new SubstratError(detail as ErrorCode, message) };
    if (code === DUPLICATE) return { as: 'again', missing: [], error, duplicate: true };
    if (code === DELETED) return { as: 'again', missing: [], error: wasDeleted(error), duplicate: true };
    if (code !== undefined && RACES.has(code)) return { as: 'again', missing: [], error };
    return { as: 'failed', error };
  }
}

/** A row that somebody else may have inserted meanwhile. */
const DUPLICATE = '23505';
/** A row that this one refers to is not there, or one that is deleted is referred to: somebody else was faster. */
const DELETED = '23503';
/** A deadlock, and a serialization failure. */
const RACES = new Set(['40P01', '40001']);

function wasDeleted(cause: unknown): SubstratError {
  const message = 'Something that this refers to was deleted at the same moment; nothing was changed.';
  return new SubstratError('not_found', message, { cause });
}

function causeOf(error: unknown): unknown {
  return error instanceof SubstratError && error.cause ? error.cause : error;
}

async function answered(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
