import { randomBytes } from 'node:crypto';
import { hashToken } from './access.ts';

/** How long a link may be used. */
const CODE_MS = 120_000;
/** Nobody opens more links than this in two minutes. */
const MOST = 1000;

interface Pending {
  readonly handle: string;
  /** The token with which the link was made; null for the home's own. */
  readonly by: string | null;
  readonly until: number;
}

/**
 * The one-time codes of links that sign a browser in. They live in memory only: a link leads to the daemon that made
 * it, and a restart voids it.
 */
export class SignInCodes {
  readonly #clock: () => number;
  readonly #pending = new Map<string, Pending>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** A code of 128 bits for the person with that handle. */
  issue(handle: string, by: string | null): { readonly code: string; readonly until: number } {
    const now = this.#clock();
    for (const [key, { until }] of this.#pending) if (until <= now) this.#pending.delete(key);
    const oldest = this.#pending.keys().next();
    if (this.#pending.size >= MOST && !oldest.done) this.#pending.delete(oldest.value);
    const code = randomBytes(16).toString('base64url');
    const until = now + CODE_MS;
    this.#pending.set(hashToken(code), { handle, by, until });
    return { code, until };
  }

  /** Whom a code signs in; null if it is unknown, used or too old. A code works once. */
  redeem(code: string): Pick<Pending, 'handle' | 'by'> | null {
    const key = hashToken(code);
    const found = this.#pending.get(key);
    this.#pending.delete(key);
    return found && found.until > this.#clock() ? found : null;
  }
}
