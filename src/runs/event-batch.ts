import type { Told } from './told.ts';

/** So much may wait to be written; the program that tells more waits, by its pipe. */
const MOST_EVENTS = 1_000;
const MOST_CHARACTERS = 1_000_000;
/** A text waits at most so long. */
const FLUSH_MS = 100;

/**
 * Collects what a provider tells, so that many texts share one commit. Texts and usage wait for company; everything else
 * is written at once, with what waited before it.
 */
export class EventBatch {
  readonly #keep: (events: readonly Told[]) => Promise<void>;
  #waiting: Told[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  /** What the last write failed to store, as far as it knows: whoever adds has to see to it. */
  #failed: readonly Told[] | null = null;

  /** A list that could not be written is given to `keep` again, the very same one, before all else. */
  constructor(keep: (events: readonly Told[]) => Promise<void>) {
    this.#keep = keep;
  }

  /** Whether it must be flushed before more is added. */
  add(event: Told): boolean {
    this.#waiting.push(event);
    if (event.type === 'text') this.#characters += event.text.length;
    const canWait = event.type === 'text' || event.type === 'usage';
    const full = this.#waiting.length >= MOST_EVENTS || this.#characters >= MOST_CHARACTERS;
    if (!canWait || full || this.#failed) return true;
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_MS);
    return false;
  }

  /** Writes what waits, once; what could not be written waits on. */
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
