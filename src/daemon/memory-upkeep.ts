import type { PassageMeaning } from '../core/memory.ts';
import type { Embedder } from '../knowledge/embedding.ts';
import { indexPassages } from '../memory/passages.ts';
import type { Node } from './node.ts';

/** Passages that an earlier version stored are indexed this many at a time, so that other writers get their turn. */
const INDEXED_AT_ONCE = 50;
/** New passages are embedded together, this long after the first. */
const PAUSE_MS = 300;
const AFTER_FAILURE_MS = 60_000;

interface Options extends Pick<Node, 'store' | 'home' | 'config' | 'log'> {
  /** Null where embeddings are disabled. */
  readonly openEmbedder: (() => Promise<Embedder>) | null;
}

/** Keeps passages searchable in the background: indexes those of an earlier version, and embeds new ones. */
export class MemoryUpkeep {
  /** Null where embeddings are disabled. */
  readonly meaning: PassageMeaning | null;
  readonly #options: Options;
  readonly #stopping = new AbortController();
  #meaning: Promise<PassageMeaning> | null = null;
  #unlisten: () => void = () => {};
  #timer: NodeJS.Timeout | null = null;
  #working: Promise<void> | null = null;
  #failed = false;

  constructor(options: Options) {
    this.#options = options;
    this.meaning = options.openEmbedder && { nearest: async (p) => (await this.#open()).nearest(p) };
  }

  start(): void {
    const { store, openEmbedder } = this.#options;
    if (openEmbedder) this.#unlisten = store.onChange(() => this.#soon(PAUSE_MS));
    this.#soon(PAUSE_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unlisten();
    if (this.#timer) clearTimeout(this.#timer);
    await this.#working;
  }

  #soon(ms: number): void {
    if (this.#timer || this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#working = this.#work().finally(() => {
        this.#timer = null;
        this.#working = null;
      });
    }, ms);
  }

  async #work(): Promise<void> {
    const { store, openEmbedder, home, config, log } = this.#options;
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted && (await store.write((tx) => indexPassages(tx, INDEXED_AT_ONCE))) > 0);
      if (!openEmbedder || signal.aborted) return;
      // A first time: it also finds out whether the model has changed.
      await this.#open();
      const [waiting] = await store.read((tx) => tx.memory.listUnembeddedPassages({ nodeId: home.nodeId, limit: 1 }));
      if (!waiting) return;
      const { embedPassages } = await import('../knowledge/passage-meaning.ts');
      const embedder = await openEmbedder();
      await embedPassages({ store, embedder, nodeId: home.nodeId, batch: config.embedding.batch, signal });
      this.#failed = false;
    } catch (error) {
      if (signal.aborted) return;
      // Reported once: searches use words meanwhile, and the next attempt follows.
      if (!this.#failed) log.warn({ error: (error as Error).message }, 'passages could not be embedded; trying again');
      this.#failed = true;
      setTimeout(() => this.#soon(0), AFTER_FAILURE_MS).unref();
    }
  }

  #open(): Promise<PassageMeaning> {
    this.#meaning ??= this.#load();
    return this.#meaning;
  }

  async #load(): Promise<PassageMeaning> {
    const { store, openEmbedder, log } = this.#options;
    const { createPassageMeaning } = await import('../knowledge/passage-meaning.ts');
    const embedder = await (openEmbedder as () => Promise<Embedder>)();
    await store.write((tx) => tx.memory.forgetPassageVectors({ model: embedder.model }));
    const onProblem = (error: Error) => log.warn({ error: error.message }, 'memory was searched by words only');
    return createPassageMeaning({ store, embedder, onProblem });
  }
}
