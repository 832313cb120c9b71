import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { hashToken } from './access.ts';

/** How long a code can be scanned, and then how long the first screen can confirm it. */
const LIFE_MS = 60_000;
/** Nobody pairs more phones than this in a minute. */
const MOST = 100;

interface Pairing {
  readonly id: string;
  readonly handle: string;
  /** The token of the page that began; null for the home's own. */
  readonly by: string | null;
  /** Hash of the code; null once it was scanned: a code works once. */
  code: string | null;
  until: number;
  claim: { readonly hash: string; readonly label: string; readonly check: string } | null;
  isConfirmed: boolean;
}

export type PairingState =
  | { readonly state: 'open' }
  | { readonly state: 'claimed'; readonly label: string; readonly check: string };

/**
 * Pairs a phone with a page that is signed in. The page shows a code; the phone exchanges it for a claim, and both show
 * the same number; the person confirms it on the page; then the claim is worth a token, once. It lives in memory only.
 */
export class Pairings {
  readonly #clock: () => number;
  readonly #all = new Map<string, Pairing>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Replaces what the same person began before. */
  start(handle: string, by: string | null): { readonly id: string; readonly code: string; readonly until: number } {
    this.#forget((pairing) => pairing.handle === handle);
    const oldest = this.#all.keys().next();
    if (this.#all.size >= MOST && !oldest.done) this.#all.delete(oldest.value);
    const code = randomBytes(16).toString('base64url');
    const [id, until] = [randomUUID(), this.#clock() + LIFE_MS];
    this.#all.set(id, { id, handle, by, code: hashToken(code), until, claim: null, isConfirmed: false });
    return { id, code, until };
  }

  /** Null if there is none, if it is too old, or if it is somebody else's. */
  look(id: string, handle: string): PairingState | null {
    const pairing = this.#own(id, handle);
    if (!pairing) return null;
    return pairing.claim
      ? { state: 'claimed', label: pairing.claim.label, check: pairing.claim.check }
      : { state: 'open' };
  }

  /** What a phone that scanned the code gets for it; null if the code is unknown, used or too old. */
  claim(
    code: string,
    label: string,
  ): { readonly claim: string; readonly check: string; readonly until: number } | null {
    this.#forget();
    const hash = hashToken(code);
    const pairing = [...this.#all.values()].find((one) => one.code === hash);
    if (!pairing) return null;
    const claim = randomBytes(16).toString('base64url');
    const check = String(randomInt(10_000)).padStart(4, '0');
    pairing.code = null;
    pairing.claim = { hash: hashToken(claim), label, check };
    pairing.until = this.#clock() + LIFE_MS;
    return { claim, check, until: pairing.until };
  }

  /** Only what was scanned can be confirmed. */
  confirm(id: string, handle: string): boolean {
    const pairing = this.#own(id, handle);
    if (!pairing?.claim) return false;
    pairing.isConfirmed = true;
    return true;
  }

  cancel(id: string, handle: string): boolean {
    return this.#own(id, handle) !== null && this.#all.delete(id);
  }

  /** Whom a claim signs in, once; `waiting` until it is confirmed; null if it was refused or is too old. */
  redeem(
    claim: string,
  ): { readonly handle: string; readonly label: string; readonly by: string | null } | 'waiting' | null {
    this.#forget();
    const hash = hashToken(claim);
    const pairing = [...this.#all.values()].find((one) => one.claim?.hash === hash);
    if (!pairing?.claim) return null;
    if (!pairing.isConfirmed) return 'waiting';
    this.#all.delete(pairing.id);
    return { handle: pairing.handle, label: pairing.claim.label, by: pairing.by };
  }

  #own(id: string, handle: string): Pairing | null {
    this.#forget();
    const pairing = this.#all.get(id);
    return pairing?.handle === handle ? pairing : null;
  }

  #forget(also: (pairing: Pairing) => boolean = () => false): void {
    const now = this.#clock();
    for (const pairing of this.#all.values()) if (pairing.until <= now || also(pairing)) this.#all.delete(pairing.id);
  }
}
