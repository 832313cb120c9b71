import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { SubstratError } from '../core/errors.ts';
import {
  Connection,
  configOf,
  NO_SERVER,
  type PostgresLimits,
  type PostgresPlace,
  type Role,
} from './postgres-connection.ts';
import { unavailable } from './postgres-errors.ts';
import type { StoreLog } from './store.ts';

export type CommitOutcome = 'committed' | 'aborted' | 'unknown';

/** A transaction for the server: its id, and the process that executes it. */
export interface TransactionIdentity {
  readonly xid: string;
  readonly pid: number;
  /** When the server started and when it last recovered from a crash, which also clears its statistics. */
  readonly life: string;
}

const LIFE = `concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time()) as life`;
export const XID = 'pg_current_xact_id()::text as xid';
/** The columns of a transaction's identity, as the transaction itself selects them. */
export const IDENTITY = `${XID}, pg_backend_pid() as pid, ${LIFE}`;

/**
 * All connections of one store. Readers use a pool; writers and the listener each hold a connection and request a new
 * one when it is lost. While the server is unreachable, callers fail immediately, and reconnects are attempted with
 * backoff and jitter. A silent server is detected by asking about an unanswered statement on another connection.
 */
export class PostgresConnections {
  readonly limits: PostgresLimits;
  readonly #place: PostgresPlace;
  readonly #log: StoreLog;
  readonly #pool: pg.Pool;
  readonly #open = new Set<Connection>();
  /** Roles whose last connection was lost. */
  readonly #missing = new Set<Role>();
  #outage: { readonly reason: string; readonly over: Promise<void> } | null = null;
  #probing: Promise<ReadonlySet<number> | null> | null = null;
  #closed = false;
  /** How often writers waited for the server. */
  roundTrips = 0;

  constructor(place: PostgresPlace, limits: PostgresLimits, log: StoreLog) {
    this.#place = place;
    this.limits = limits;
    this.#log = log;
    const create = () => this.#create('reader');
    this.#pool = new pg.Pool({
      max: limits.readers,
      connectionTimeoutMillis: limits.acquireMs,
      Client: class {
        constructor() {
          // biome-ignore lint/correctness/noConstructorReturn: the pool calls `new`, and each client has to be one of ours.
          return create();
        }
      } as unknown as new () => pg.Client,
    });
    this.#pool.on('connect', () => this.#reached('reader'));
    this.#pool.on('error', () => {}); // An idle connection was lost: it has reported that itself, and the pool has dropped it.
  }

  get pooled(): boolean {
    return this.#place.prepared === false;
  }

  /** Runs `work` on a connection of the pool. */
  async read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#pool.idleCount === 0) this.#admit();
    const client = await this.#pool.connect().catch((error: Error) => {
      throw this.#refused(error);
    });
    const connection = client as unknown as Connection;
    try {
      return await work(connection);
    } finally {
      client.release(connection.lost !== null);
    }
  }

  /** A dedicated connection for the caller, until it is lost. */
  async connect(role: Role): Promise<Connection> {
    this.#admit();
    const connection = this.#create(role);
    try {
      await connection.connect();
    } catch (error) {
      connection.leave();
      throw this.#refused(error as Error);
    }
    this.#reached(role);
    return connection;
  }

  /** Resolves after a short pause once the server is reachable, as far as is known. */
  async pause(signal: AbortSignal): Promise<void> {
    await sleep(this.#backoff(0), undefined, { signal, ref: false }).catch(() => {});
    await this.#outage?.over;
  }

  /**
   * Whether a transaction whose `commit` got no response took effect, according to the server on a new connection. A
   * transaction that still waits for its `commit` is terminated first, so that it cannot take effect later.
   */
  async outcomeOf({ xid, pid, life }: TransactionIdentity, giveUpAt: number): Promise<CommitOutcome> {
    for (let wait = 20; performance.now() < giveUpAt && !this.#closed; wait = Math.min(wait * 2, 500)) {
      const probe = this.#create('probe');
      const overdue = setTimeout(() => probe.cut('no answer in time'), giveUpAt - performance.now());
      try {
        await probe.connect();
        const { rows } = await probe.execute(`select pg_xact_status($1::xid8) as status, ${LIFE}`, [xid]);
        const found = rows[0] as { status: string | null; life: string };
        // After a crash the id can be another transaction's: what was not yet on the disk has left no trace.
        if (found.status === 'committed' && found.life !== life) return 'unknown';
        if (found.status === 'committed' || found.status === 'aborted') return found.status;
        await probe.execute(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where pid = $1 and backend_xid = $2::xid8::xid and state like 'idle in transaction%'`,
          [pid, xid],
        );
      } catch (error) {
        // After a failover without this transaction, the server does not know its id.
        if ((error as { code?: string }).code === '22023') return 'aborted';
      } finally {
        clearTimeout(overdue);
        probe.leave();
      }
      await sleep(Math.min(wait, Math.max(giveUpAt - performance.now(), 0)));
    }
    return 'unknown';
  }

  async close(): Promise<void> {
    this.#closed = true;
    const own = [...this.#open].filter(({ role }) => role !== 'reader');
    const ended = Promise.allSettled([this.#pool.end(), ...own.map((connection) => connection.end())]);
    const late = new AbortController();
    await Promise.race([ended, sleep(this.limits.closeMs, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    for (const connection of this.#open) connection.cut('the store was closed');
  }

  #create(role: Role): Connection {
    const { silenceMs } = this.limits;
    const connection = new Connection(configOf(this.#place, role, this.limits), role, {
      silenceMs,
      onSilence: (silent) => this.#examine(silent),
      onLost: (error) => this.#lost(role, error),
      onSent: () => {
        if (role === 'writer') this.roundTrips += 1;
      },
    });
    this.#open.add(connection);
    connection.on('end', () => this.#open.delete(connection));
    return connection;
  }

  /** In an outage callers do not wait: only `#recover` tries to connect. */
  #admit(): void {
    if (this.#closed) throw new SubstratError('store', 'The store is closed.');
    if (this.#outage) throw unavailable(new Error(this.#outage.reason));
  }

  /** A connection attempt failed. If the pool was only busy, or the server responded, the network is fine. */
  #refused(error: Error): SubstratError {
    if (error.message === POOL_IS_BUSY) {
      return new SubstratError('store', 'Too many concurrent reads from the store. Try again.', { cause: error });
    }
    if (!this.#closed && this.#outage === null && !isAnswer(error)) {
      this.#log.warn({ error: reasonOf(error) }, 'PostgreSQL cannot be reached');
      this.#outage = { reason: reasonOf(error), over: this.#recover(performance.now()) };
    }
    return unavailable(error);
  }

  /** Retries until it connects or the store is closed. */
  async #recover(since: number): Promise<void> {
    for (let attempt = 0; !this.#closed; attempt += 1) {
      await sleep(this.#backoff(attempt), undefined, { ref: false });
      const probe = this.#create('probe');
      try {
        await probe.connect();
      } catch (error) {
        if (!isAnswer(error)) continue;
      } finally {
        probe.leave();
      }
      this.#outage = null;
      this.#log.info({ afterMs: performance.now() - since }, 'PostgreSQL can be reached again');
      return;
    }
  }

  #backoff(attempt: number): number {
    const { backoffMs, maxBackoffMs } = this.limits;
    return Math.min(backoffMs * 2 ** attempt, maxBackoffMs) * (0.5 + Math.random() / 2);
  }

  #reached(role: Role): void {
    if (this.#missing.delete(role)) this.#log.info({ role }, 'a lost connection to PostgreSQL was replaced');
  }

  #lost(role: Role, error: Error): void {
    if (this.#closed || role === 'probe') return;
    this.#missing.add(role);
    this.#log.warn({ role, error: reasonOf(error) }, 'a connection to PostgreSQL was lost');
  }

  /**
   * A statement has no response. If the server cannot be asked about it, all connections are lost; if it does not
   * know the statement, it has lost it.
   */
  async #examine(silent: Connection): Promise<void> {
    const statement = silent.underWay;
    this.#probing ??= this.#listActive().finally(() => {
      this.#probing = null;
    });
    try {
      const active = await this.#probing;
      // Behind a pooler nobody knows which process works for it.
      if (active === null || silent.pooled || active.has(silent.pid)) return;
    } catch {
      for (const connection of this.#open) if (connection.role !== 'probe') connection.cut(NO_SERVER);
      return;
    }
    await sleep(LATE_ANSWER_MS);
    if (statement !== null && silent.underWay === statement) silent.cut('the answer to a statement was lost');
  }

  /** The server processes that work for us; null if it refuses to tell. Throws if it cannot be reached. */
  async #listActive(): Promise<ReadonlySet<number> | null> {
    const probe = this.#create('probe');
    const overdue = setTimeout(() => probe.cut('no answer in time'), this.limits.connectMs);
    try {
      await probe.connect();
      const { rows } = await probe.execute(
        "select pid from pg_stat_activity where usename = current_user and state = 'active'",
        [],
      );
      return new Set((rows as { pid: number }[]).map(({ pid }) => pid));
    } catch (error) {
      if (isAnswer(error)) return null;
      throw this.#refused(error as Error);
    } finally {
      clearTimeout(overdue);
      probe.leave();
    }
  }
}

const POOL_IS_BUSY = 'timeout exceeded when trying to connect';
/** The response of a finished statement arrives within this time. */
const LATE_ANSWER_MS = 250;

/**
 * Whether a working server said this, for example that it has too many connections. A server that is starting or
 * stopping does not count.
 */
function isAnswer(error: unknown): boolean {
  const cause = error instanceof SubstratError ? error.cause : error;
  return cause instanceof pg.DatabaseError && !cause.code?.startsWith('57P');
}

function reasonOf(error: Error): string {
  return error.message || ((error as { code?: string }).code ?? 'unknown');
}
