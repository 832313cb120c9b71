import type { Node } from './node.ts';
import { heartbeatMs, sendHeartbeat } from './presence.ts';
import { forgetOld } from './retention.ts';

/** When expired data is removed: first after the start, then periodically. */
const FIRST_MS = 20_000;
const NEXT_MS = 600_000;

interface Tended extends Node {
  /** A step of the node's drain, if it drains. */
  readonly drain: () => Promise<void>;
}

/** Periodic work: stores the node's heartbeat and removes data that is older than the configured retention. */
export class Housekeeping {
  readonly #node: Tended;
  readonly #stopping = new AbortController();
  #heartbeat: NodeJS.Timeout | null = null;
  #next: NodeJS.Timeout | null = null;
  #forgetting: Promise<void> | null = null;

  constructor(node: Tended) {
    this.#node = node;
  }

  /** Call it after the registration: a start may take longer than `dead_after`. */
  startHeartbeat(): void {
    this.#heartbeat = setInterval(() => void this.#beat(), heartbeatMs(this.#node.config));
  }

  start(): void {
    this.#wait(FIRST_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    if (this.#next) clearTimeout(this.#next);
    await this.#forgetting;
  }

  /** A failed heartbeat is harmless: more follow before the node counts as dead. */
  async #beat(): Promise<void> {
    const { drain, log } = this.#node;
    const ours = await sendHeartbeat(this.#node).catch(() => true);
    if (ours) return drain().catch((error: Error) => log.warn({ error: error.message }, 'the drain waits'));
    log.error({}, 'another daemon has taken the id of this node; this one starts no runs');
  }

  /** A failed pass is only logged; the next one follows in ten minutes. */
  async forget(): Promise<void> {
    await forgetOld(this.#node, this.#stopping.signal).catch((error: Error) => {
      if (this.#stopping.signal.aborted) return;
      this.#node.log.error({ error: error.message }, 'expired data could not be removed');
    });
  }

  #wait(ms: number): void {
    this.#next = setTimeout(() => {
      this.#forgetting = this.forget().finally(() => {
        if (!this.#stopping.signal.aborted) this.#wait(NEXT_MS);
      });
    }, ms);
  }
}
