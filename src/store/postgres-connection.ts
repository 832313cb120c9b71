import pg from 'pg';
import { isUnavailable, unavailable } from './postgres-errors.ts';
import { Flight, type FlightResult, PreparedStatements, type Statement } from './postgres-flight.ts';
import type { Execute } from './query.ts';

export interface PostgresPlace {
  readonly url: string;
  /** Where no pooler is in between, for what needs a session: LISTEN, migrations, questions about other connections. */
  readonly directUrl?: string | null;
  /** False: a pooler in transaction mode is in between, so nothing may be left in a session. */
  readonly prepared?: boolean;
}

/** All PostgreSQL timeouts. In an outage a caller waits at most `silenceMs` plus `connectMs`. */
export interface PostgresLimits {
  /** The timeout of a new connection until the server is ready for a statement. */
  readonly connectMs: number;
  /** How long a reader waits for a pooled connection. */
  readonly acquireMs: number;
  /** After a statement had no response for this long, the server is asked about it on another connection. */
  readonly silenceMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
  /** A node that stalls inside a transaction must not block the others. */
  readonly idleInTransactionMs: number;
  /** How long to look for the outcome of a commit. */
  readonly doubtMs: number;
  /** The delay before the first reconnect, which doubles, and its maximum. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** How often to poll for commits of other nodes whose hint was lost. */
  readonly pollMs: number;
  /** The timeout for closing connections gracefully. */
  readonly closeMs: number;
  readonly readers: number;
  /** Transactions of this node at the same time. */
  readonly writers: number;
  /** Other nodes are told of commits at most this often. */
  readonly hintMs: number;
}

export const POSTGRES_LIMITS: PostgresLimits = {
  connectMs: 4_000,
  acquireMs: 8_000,
  silenceMs: 3_000,
  statementMs: 30_000,
  lockMs: 8_000,
  idleInTransactionMs: 2_500,
  doubtMs: 10_000,
  backoffMs: 100,
  maxBackoffMs: 2_000,
  pollMs: 2_000,
  closeMs: 1_000,
  readers: 8,
  writers: 16,
  hintMs: 10,
};

/** Migrations may take long, and other nodes that start at the same time wait for the one that migrates. */
const MIGRATION = { statement_timeout: 0, lock_timeout: 120_000, idle_in_transaction_session_timeout: 60_000 };
/** A backup reads one snapshot for as long as it takes to write its file. */
const BACKUP = { statement_timeout: 0, lock_timeout: 120_000, idle_in_transaction_session_timeout: 0 };
const KEEPALIVE_MS = 10_000;

export type Role = 'reader' | 'writer' | 'listener' | 'migration' | 'backup' | 'probe';

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** The owner of a connection handles its events. */
interface Keeper {
  /** How long a statement may have no response before `onSilence` is called, repeatedly. */
  readonly silenceMs: number;
  readonly onSilence: (connection: Connection) => Promise<void>;
  readonly onLost: (error: Error) => void;
  /** Statements were sent while none was unanswered. */
  readonly onSent: () => void;
}

/**
 * One connection: statements are prepared once and sent without waiting for earlier ones, unanswered ones are
 * monitored, and a lost connection is an error with the code `store`.
 */
export class Connection extends pg.Client {
  readonly role: Role;
  /** Whether a pooler gives each transaction another session. */
  readonly pooled: boolean;
  /** Why it can no longer be used. */
  lost: Error | null = null;
  /** Identifies the last statement without a response. */
  underWay: object | null = null;
  readonly #prepared: PreparedStatements | null;
  readonly #keeper: Keeper;
  #unanswered = 0;
  #watch: NodeJS.Timeout | undefined;

  constructor({ pooled, ...config }: ConnectionConfig, role: Role, keeper: Keeper) {
    super(config);
    this.role = role;
    this.pooled = pooled;
    this.#prepared = pooled ? null : new PreparedStatements();
    this.#keeper = keeper;
    // Without a listener, losing a connection in use would end the process.
    this.on('error', (error) => this.#lose(error));
    this.on('end', () => {
      this.lost ??= new Error('the connection was closed');
    });
  }

  get pid(): number {
    return (this as unknown as { processID: number | null }).processID ?? 0;
  }

  readonly execute: Execute = async (sql, parameters) => (await this.send([{ sql, parameters }]))[0] as FlightResult;

  /** Sends statements together. None is executed behind one that failed. */
  send(statements: readonly Statement[]): Promise<readonly FlightResult[]> {
    const flight = new Flight(statements, this.#prepared, types);
    return this.#watched(() => {
      this.query(flight);
      return flight.landed;
    });
  }

  async commit(): Promise<void> {
    checkCommitted((await this.send(COMMIT)).at(-1));
  }

  /** Closes it without waiting for the server; the current statement fails. */
  cut(reason: string): void {
    const error = new Error(reason);
    this.#lose(error);
    this.connection.stream.destroy(error);
  }

  /** Closes it gracefully, without waiting for it. */
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
    if (this.#unanswered === 0) {
      this.#keeper.onSent();
      this.#watch = setInterval(() => void this.#keeper.onSilence(this), this.#keeper.silenceMs);
    }
    this.#unanswered += 1;
    try {
      return await query();
    } catch (error) {
      if ((error as { severity?: string }).severity === 'FATAL') this.#lose(error as Error);
      if (this.lost || isUnavailable(error)) throw unavailable(this.lost ?? (error as Error));
      throw error;
    } finally {
      this.#unanswered -= 1;
      if (this.#unanswered === 0) clearInterval(this.#watch);
      if (this.underWay === statement) this.underWay = null;
    }
  }
}

const LEAVING_MS = 1_000;

/** A commit has no statement timeout: one that waits for a replica would end as if it had been replicated. */
export const COMMIT: readonly Statement[] = [
  { sql: 'set local statement_timeout = 0', parameters: [] },
  { sql: 'commit', parameters: [] },
];

/** PostgreSQL accepts a commit of a failed transaction and rolls it back. */
export function checkCommitted(result: FlightResult | undefined): void {
  if (result?.command !== 'COMMIT') throw new Error('a statement had failed before');
}

/** A connection that belongs to no store. The caller closes it. */
export async function connectAlone(place: PostgresPlace, role: 'backup' | 'probe'): Promise<Connection> {
  const onSilence = async (silent: Connection) => silent.cut(NO_SERVER);
  // A backup's statements may take long; keepalive detects a lost connection.
  const silenceMs = role === 'backup' ? LONGEST_TIMER_MS : POSTGRES_LIMITS.silenceMs;
  const keeper = { silenceMs, onSilence, onLost: () => {}, onSent: () => {} };
  const connection = new Connection(configOf(place, role, POSTGRES_LIMITS), role, keeper);
  try {
    await connection.connect();
    return connection;
  } catch (error) {
    connection.leave();
    throw unavailable(error as Error);
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface ConnectionConfig extends pg.ClientConfig {
  readonly pooled: boolean;
}

export function configOf(
  { url, directUrl, prepared }: PostgresPlace,
  role: Role,
  limits: PostgresLimits,
): ConnectionConfig {
  const pooled = prepared === false && (role === 'reader' || role === 'writer');
  return {
    pooled,
    connectionString: pooled ? url : (directUrl ?? url),
    types,
    pipeline: role !== 'backup',
    application_name: `substrat ${role}`,
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    // A pooler refuses settings of a session: writers set them in each transaction.
    ...(pooled ? {} : role === 'migration' ? MIGRATION : role === 'backup' ? BACKUP : timeoutsOf(limits)),
  };
}

/** The timeouts of a session, or of a transaction. */
export function timeoutsOf(limits: PostgresLimits) {
  return {
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
  };
}

/** Whether a connection was closed because it was silent. */
export function wasSilent(reason: Error): boolean {
  return reason.message === NO_SERVER || reason.message === NO_ANSWER;
}

export const NO_SERVER = 'the server does not respond';
export const NO_ANSWER = 'no response to the commit';
