/** Shared by all writers, and exclusive for what changes everything: migrations, restores, moves of a node. */
export const WRITE_LOCK = 7_331_001;

/** In place of the names of all locks. */
export const EVERYTHING = '*';

/** What writers of one process hold or wait for, so that those who would wait for each other take no connection. */
export class LocalLocks {
  readonly #held = new Map<string, number>();
  #all = 0;
  #holders = 0;

  isFree(locks: ReadonlySet<string>): boolean {
    if (this.#all > 0) return false;
    if (locks.has(EVERYTHING)) return this.#holders === 0;
    for (const lock of locks) if (this.#held.has(lock)) return false;
    return true;
  }

  take(locks: ReadonlySet<string>): void {
    this.#count(locks, 1);
  }

  release(locks: ReadonlySet<string>): void {
    this.#count(locks, -1);
  }

  #count(locks: ReadonlySet<string>, by: number): void {
    this.#holders += by;
    if (locks.has(EVERYTHING)) this.#all += by;
    for (const lock of locks) {
      const count = (this.#held.get(lock) ?? 0) + by;
      if (count === 0) this.#held.delete(lock);
      else this.#held.set(lock, count);
    }
  }
}

/**
 * What writes like this one needed last time. Only a guess: what is missing is found out, and what is too much costs
 * waiting, so a guess is discarded from time to time.
 */
export class LockGuesses {
  readonly #guesses = new Map<string, { readonly locks: ReadonlySet<string>; uses: number }>();

  /** Of the first name that is known. */
  guess(names: readonly string[]): ReadonlySet<string> {
    for (const name of names) {
      const found = this.#guesses.get(name);
      if (!found) continue;
      found.uses += 1;
      if (found.uses > MOST_USES) this.#guesses.delete(name);
      return found.locks;
    }
    return NONE;
  }

  learn([like]: readonly string[], locks: ReadonlySet<string>): void {
    if (like === undefined || locks.size > MOST_LOCKS || locks.has(EVERYTHING)) return;
    this.#guesses.delete(like);
    this.#guesses.set(like, { locks, uses: 0 });
    if (this.#guesses.size > MOST_GUESSES) this.#guesses.delete(this.#guesses.keys().next().value as string);
  }
}

const NONE: ReadonlySet<string> = new Set();
const MOST_USES = 200;
const MOST_LOCKS = 8;
const MOST_GUESSES = 10_000;
