import pg from 'pg';
import { isUnavailable, unavailable } from './postgres-errors.ts';
import type { Execute } from './query.ts';

/** Every time limit of PostgreSQL. In an outage a caller waits for at most `silenceMs` and `connectMs` together. */
export interface PostgresLimits {
  /** How long a new connection may take until the server is ready for a statement. */
  readonly connectMs: number;
  /** How long a reader waits for a connection of the pool. */
  readonly acquireMs: number;
  /** A statement without an answer for so long makes us ask the server about it on another connection. */
  readonly silenceMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
  /** How long a batch of writers may hold the lock of all nodes before those who are left wait for the next one. */
  readonly batchMs: number;
  /** A node that stalls inside a transaction must not keep the others from writing. */
  readonly idleInTransactionMs: number;
  /** How long the outcome of a commit is looked for. */
  readonly doubtMs: number;
  /** The pause before the first attempt to reconnect, which doubles, and the longest one. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** How often to look for commits of other nodes whose hint was lost. */
  readonly pollMs: number;
  /** How long a polite end of the connections may take. */
  readonly closeMs: number;
  readonly readers: number;
}

export const POSTGRES_LIMITS: PostgresLimits = {
  connectMs: 4_000,
  acquireMs: 8_000,
  silenceMs: 3_000,
  statementMs: 30_000,
  lockMs: 8_000,
  batchMs: 2_000,
  idleInTransactionMs: 15_000,
  doubtMs: 10_000,
  backoffMs: 100,
  maxBackoffMs: 2_000,
  pollMs: 2_000,
  closeMs: 1_000,
  readers: 8,
};

/** Migrations may take long, and the nodes that start at the same time wait for the one that migrates. */
const MIGRATION = { statement_timeout: 0, lock_timeout: 120_000, idle_in_transaction_session_timeout: 60_000 };
/** A backup reads one snapshot for as long as its file takes. */
const BACKUP = { statement_timeout: 0, lock_timeout: 120_000, idle_in_transaction_session_timeout: 0 };
const KEEPALIVE_MS = 10_000;

export type Role = 'reader' | 'writer' | 'listener' | 'migration' | 'backup' | 'probe';

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Whoever made a connection looks after it. */
interface Keeper {
  /** How long a statement may stay unanswered until `onSilence` is called, and called again. */
  readonly silenceMs: number;
  readonly onSilence: (connection: Connection) => Promise<void>;
  readonly onLost: (error: Error) => void;
}

/** One connection: statements are prepared once, an unanswered one is looked after, and a loss is an error with the code `store`. */
export class Connection extends pg.Client {
  readonly role: Role;
  /** Why it cannot be used any more. */
  lost: Error | null = null;
  /** What stands for the statement that has no answer yet. */
  underWay: object | null = null;
  readonly #names = new Map<string, string>();
  readonly #keeper: Keeper;

  constructor(config: pg.ClientConfig, role: Role, keeper: Keeper) {
    super(config);
    this.role = role;
    this.#keeper = keeper;
    // Without a listener, a connection that is lost while it is in use would end the process.
    this.on('error', (error) => this.#lose(error));
    this.on('end', () => {
      this.lost ??= new Error('the connection was closed');
    });
  }

  get pid(): number {
    return (this as unknown as { processID: number | null }).processID ?? 0;
  }

  readonly execute: Execute = async (text, values) => {
    const name = this.#names.get(text) ?? `q${this.#names.size}`;
    this.#names.set(text, name);
    const result = await this.#watched(() => this.query({ name, text, values: values as unknown[] }));
    return { rows: result.rows, changes: result.rowCount ?? 0 };
  };

  /** PostgreSQL accepts a commit of a transaction that has failed, and rolls it back. A commit has no statement timeout: one that waits for a replica would end as if it had been replicated. */
  async commit(): Promise<void> {
    const results = await this.#watched(() => this.query('set local statement_timeout = 0; commit'));
    const last = (results as unknown as pg.QueryResult[]).at(-1);
    if (last?.command !== 'COMMIT') throw new Error('a statement had failed before');
  }

  /** Ends it without waiting for the server; what is under way fails. */
  cut(reason: string): void {
    const error = new Error(reason);
    this.#lose(error);
    this.connection.stream.destroy(error);
  }

  /** Ends it politely, without waiting for that. */
  leave(): void {
    this.end().catch(() => {});
    setTimeout(() => this.connection.stream.destroy(), LEAVING_MS).unref();
  }

  #lose(error: Error): void {
    if (this.lost) return;
    this.lost = error;
    this.#keeper.onLost(error);
  }

  async #watched<T>(query: () => Promise<T>): Promise<T> {
    const statement = {};
    this.underWay = statement;
    const watch = setInterval(() => void this.#keeper.onSilence(this), this.#keeper.silenceMs);
    try {
      return await query();
    } catch (error) {
      if ((error as { severity?: string }).severity === 'FATAL') this.#lose(error as Error);
      if (this.lost || isUnavailable(error)) throw unavailable(this.lost ?? (error as Error));
      throw error;
    } finally {
      clearInterval(watch);
      if (this.underWay === statement) this.underWay = null;
    }
  }
}

const LEAVING_MS = 1_000;

/** One connection that belongs to no store. Whoever asks for it ends it. */
export async function connectAlone(url: string, role: 'backup' | 'probe'): Promise<Connection> {
  const onSilence = async (silent: Connection) => silent.cut(NO_SERVER);
  // A backup's statements may take long; a lost connection shows by its keepalive.
  const silenceMs = role === 'backup' ? LONGEST_TIMER_MS : POSTGRES_LIMITS.silenceMs;
  const keeper = { silenceMs, onSilence, onLost: () => {} };
  const connection = new Connection(configOf(url, role, POSTGRES_LIMITS), role, keeper);
  try {
    await connection.connect();
    return connection;
  } catch (error) {
    connection.leave();
    throw unavailable(error as Error);
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function configOf(url: string, role: Role, limits: PostgresLimits): pg.ClientConfig {
  const ours = {
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
  };
  return {
    connectionString: url,
    types,
    application_name: `substrat ${role}`,
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    ...(role === 'migration' ? MIGRATION : role === 'backup' ? BACKUP : ours),
  };
}

/** Whether a connection was cut because nothing came over it. */
export function wasSilent(reason: Error): boolean {
  return reason.message === NO_SERVER || reason.message === NO_ANSWER;
}

export const NO_SERVER = 'the server does not answer';
export const NO_ANSWER = 'the commit was not answered';
