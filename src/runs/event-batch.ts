import type { Told } from './told.ts';

/** Maximum pending events; beyond it, the program is slowed down through its pipe (backpressure). */
const MOST_EVENTS = 1_000;
const MOST_CHARACTERS = 1_000_000;
/** The maximum delay of a text. */
const FLUSH_MS = 100;

/**
 * Batches provider events, so that many texts share one commit. Texts and usage are delayed; everything else is
 * written immediately, with what was pending.
 */
export class EventBatch {
  readonly #keep: (events: readonly Told[]) => Promise<void>;
  #waiting: Told[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  /** The events that the last write may not have stored: the next caller must handle them. */
  #failed: readonly Told[] | null = null;

  /** After a failed write, `keep` gets the same list again, before anything else. */
  constructor(keep: (events: readonly Told[]) => Promise<void>) {
    this.#keep = keep;
  }

  /** Returns whether it must be flushed before more is added. */
  add(event: Told): boolean {
    this.#waiting.push(event);
    if (event.type === 'text') this.#characters += event.text.length;
    const canWait = event.type === 'text' || event.type === 'usage';
    const full = this.#waiting.length >= MOST_EVENTS || this.#characters >= MOST_CHARACTERS;
    if (!canWait || full || this.#failed) return true;
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_MS);
    return false;
  }

  /** Writes pending events once; what could not be written stays pending. */
  flush(): Promise<void> {
    this.#disarm();
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => {});
    return written;
  }

  close(): void {
    this.#disarm();
  }

  async #write(): Promise<void> {
    if (this.#failed) await this.#store(this.#failed);
    if (this.#waiting.length === 0) return;
    const events = this.#waiting;
    this.#waiting = [];
    this.#characters = 0;
    await this.#store(events);
  }

  async #store(events: readonly Told[]): Promise<void> {
    try {
      await this.#keep(events);
      this.#failed = null;
    } catch (error) {
      this.#failed = events;
      throw error;
    }
  }

  #disarm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
