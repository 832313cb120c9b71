import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './postgres-connection.ts';
import type { PostgresConnections } from './postgres-connections.ts';

const CHANNEL = 'substrat';
const WHISPERS = 'substrat_whispers';
/** While this many are not yet sent, further ones are lost. */
const MOST_WHISPERS = 20;
/** PostgreSQL refuses longer ones. */
const MOST_BYTES = 7_999;

interface Tell {
  /** Another node committed. */
  readonly onHint: (hint: string) => void;
  /** Events up to that number have numbers. */
  readonly onNumbered: (seq: number) => void;
  /** Called each time that the connection is established. */
  readonly onConnected: () => void;
}

/**
 * Numbers this node's committed events and tells other nodes, at most once in `hintMs`, and receives their hints, on a
 * connection that is re-established whenever it is lost. An event that nobody numbered is numbered by whoever reads
 * events next, on any node.
 */
export class PostgresListener {
  readonly #connections: PostgresConnections;
  readonly #tell: Tell;
  readonly #stop = new AbortController();
  #connection: Connection | null = null;
  /** Whether a run became ready in what is to be announced; null: nothing is. */
  #pending: { runnable: boolean } | null = null;
  #unchecked = false;
  #sending: Promise<void> | null = null;
  #announcedAt = Number.NEGATIVE_INFINITY;
  readonly #hearers = new Set<(text: string) => void>();
  #whispering = 0;

  constructor(connections: PostgresConnections, tell: Tell) {
    this.#connections = connections;
    this.#tell = tell;
  }

  async connect(): Promise<void> {
    const connection = await this.#connections.connect('listener');
    connection.on('notification', ({ processId, channel, payload }) => {
      if (processId === connection.pid || !payload) return;
      if (channel === CHANNEL) this.#tell.onHint(payload);
      else for (const hear of this.#hearers) hear(payload);
    });
    try {
      await connection.execute(`listen ${CHANNEL}`, []);
      await connection.execute(`listen ${WHISPERS}`, []);
      if (connection.lost) throw connection.lost;
    } catch (error) {
      connection.leave();
      throw error;
    }
    connection.on('end', () => void this.#reconnect());
    this.#connection = connection;
    this.#tell.onConnected();
  }

  /** Something was committed. A lost hint delays other nodes until their next poll. */
  announce(runnable: boolean): void {
    this.#pending = { runnable: runnable || this.#pending?.runnable === true };
    this.#sending ??= this.#send();
  }

  whisper(text: string): void {
    const connection = this.#connection;
    if (!connection || connection.lost || this.#whispering >= MOST_WHISPERS) return;
    if (Buffer.byteLength(text) > MOST_BYTES) return;
    this.#whispering += 1;
    Promise.resolve(connection.execute(`select pg_notify('${WHISPERS}', $1)`, [text]))
      .catch(() => {})
      .finally(() => {
        this.#whispering -= 1;
      });
  }

  onWhisper(listener: (text: string) => void): () => void {
    this.#hearers.add(listener);
    return () => this.#hearers.delete(listener);
  }

  /** Checks that the server still responds: a connection on which nothing is sent never fails. */
  check(): void {
    this.#unchecked = true;
    this.#sending ??= this.#send();
  }

  close(): void {
    this.#stop.abort();
  }

  /** Closes it after the last announcement. */
  async finish(): Promise<void> {
    this.close();
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { hintMs } = this.#connections.limits;
    while (this.#connection && !this.#connection.lost && (this.#pending || this.#unchecked)) {
      const wait = this.#announcedAt + hintMs - performance.now();
      if (this.#pending && wait > 0) await sleep(wait, undefined, { signal: this.#stop.signal }).catch(() => {});
      const pending = this.#pending;
      this.#pending = null;
      this.#unchecked = false;
      this.#announcedAt = performance.now();
      try {
        await (pending ? this.#number(this.#connection, pending) : this.#connection.execute('select 1', []));
      } catch {
        // The next announcement or the next reader of events numbers them.
      }
    }
    this.#sending = null;
  }

  async #number(connection: Connection, { runnable }: { readonly runnable: boolean }): Promise<void> {
    const { rows } = await connection.execute(
      `select seq, pg_notify('${CHANNEL}', seq || $1) from (select number_events() as seq offset 0) as numbered`,
      [runnable ? ' 1' : ' 0'],
    );
    this.#tell.onNumbered((rows[0] as { seq: number }).seq);
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await this.#connections.pause(signal);
      if (signal.aborted) return;
      try {
        return await this.connect();
      } catch {
        // The loss is logged; the next attempt follows after a pause.
      }
    }
  }
}
