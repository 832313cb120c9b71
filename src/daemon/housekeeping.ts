import type { Node } from './node.ts';
import { HEARTBEAT_MS, seeNode } from './nodes.ts';
import { forgetOld } from './retention.ts';

/** What is old is removed soon after the start, and then again and again. */
const FIRST_MS = 20_000;
const NEXT_MS = 600_000;

/** What a daemon does beside its work: it says that it is alive, and removes what is older than the configuration keeps. */
export class Housekeeping {
  readonly #node: Node;
  readonly #stopping = new AbortController();
  #heartbeat: NodeJS.Timeout | null = null;
  #next: NodeJS.Timeout | null = null;
  #forgetting: Promise<void> | null = null;

  constructor(node: Node) {
    this.#node = node;
  }

  /** A heartbeat that could not be stored is harmless: two more come before the node counts as gone. */
  start(): void {
    this.#heartbeat = setInterval(() => void seeNode(this.#node).catch(() => {}), HEARTBEAT_MS);
    this.#wait(FIRST_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    if (this.#next) clearTimeout(this.#next);
    await this.#forgetting;
  }

  /** What could not be removed is removed ten minutes later. */
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
