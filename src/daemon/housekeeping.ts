import { wakeSleepers } from '../runs/sleepers.ts';
import type { Node } from './node.ts';
import { heartbeatMs, loseSilentNodes, sendHeartbeat, watchMs } from './presence.ts';
import { forgetOld } from './retention.ts';
import type { SharedTime } from './shared-time.ts';
import { tallyUsage } from './tally.ts';

/** When expired data is removed: first after the start, then periodically. */
const FIRST_MS = 20_000;
const NEXT_MS = 600_000;
/** How often agents that nobody woke are looked for, and ended runs are added to the totals of usage. */
const SWEEP_MS = 60_000;

interface Tended extends Node {
  /** A step of the node's drain, if it drains. */
  readonly drain: () => Promise<void>;
  /** Null if this machine's clock counts. */
  readonly time: SharedTime | null;
  /** Takes over agents of lost nodes. */
  readonly takeOver: () => Promise<void>;
  /** Removes what workspaces that moved away have left here. */
  readonly clear: () => Promise<void>;
}

/**
 * Periodic work: the node's heartbeat, those of others, agents that nobody woke, the totals of usage,
 * and data that is older than the configured retention.
 */
export class Housekeeping {
  readonly #node: Tended;
  readonly #stopping = new AbortController();
  #heartbeat: NodeJS.Timeout | null = null;
  #next: NodeJS.Timeout | null = null;
  #sweep: NodeJS.Timeout | null = null;
  #watch: NodeJS.Timeout | null = null;
  #watching: Promise<void> | null = null;
  #forgetting: Promise<void> | null = null;
  #tallying: Promise<void> | null = null;

  constructor(node: Tended) {
    this.#node = node;
  }

  /** Call it after the registration: a start may take longer than `dead_after`. */
  startHeartbeat(): void {
    this.#heartbeat = setInterval(() => void this.#beat(), heartbeatMs(this.#node.config));
  }

  start(): void {
    this.#wait(FIRST_MS);
    this.#sweep = setInterval(() => {
      void this.#wake();
      this.#tallying ??= this.#tally().finally(() => {
        this.#tallying = null;
      });
    }, SWEEP_MS);
    this.#watch = setInterval(() => {
      this.#watching ??= this.#watchOthers().finally(() => {
        this.#watching = null;
      });
    }, watchMs(this.#node));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    if (this.#next) clearTimeout(this.#next);
    if (this.#sweep) clearInterval(this.#sweep);
    if (this.#watch) clearInterval(this.#watch);
    await this.#watching;
    await this.#forgetting;
    await this.#tallying;
  }

  /** A failed heartbeat is harmless: more follow before the node counts as dead. */
  async #beat(): Promise<void> {
    const { drain, log, time } = this.#node;
    await time?.follow().catch(() => {});
    const ours = await sendHeartbeat(this.#node).catch(() => true);
    if (ours) return drain().catch((error: Error) => log.warn({ error: error.message }, 'the drain waits'));
    log.error({}, 'another daemon has taken the id of this node; this one starts no runs');
  }

  async #watchOthers(): Promise<void> {
    const { takeOver, log } = this.#node;
    try {
      await loseSilentNodes(this.#node);
      await takeOver();
    } catch (error) {
      log.warn({ error: (error as Error).message }, 'other nodes could not be looked at');
    }
  }

  async #wake(): Promise<void> {
    const { home, store, clock, log } = this.#node;
    await wakeSleepers({ store, nodeId: home.nodeId, clock, log }).catch((error: Error) =>
      log.warn({ error: error.message }, 'agents that nobody woke could not be looked for'),
    );
  }

  async #tally(): Promise<void> {
    await tallyUsage(this.#node, this.#stopping.signal).catch((error: Error) =>
      this.#node.log.warn({ error: error.message }, 'usage could not be added up'),
    );
  }

  /** A failed pass is only logged; the next one follows in ten minutes. */
  async forget(): Promise<void> {
    await this.#node.clear().catch((error: Error) => {
      this.#node.log.warn({ error: error.message }, 'old directories could not be removed');
    });
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
