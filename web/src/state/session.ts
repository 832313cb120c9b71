import { computed, signal } from '@preact/signals';
import { createBrowserClient } from '../../../src/client/browser.ts';
import { BASE, remembered } from './storage.ts';

export interface Session {
  readonly token: string;
  readonly as: string;
  readonly owner: boolean;
}

export type Entry =
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'signed-out'; readonly problem: string | null }
  /** A link was opened in a browser that is signed in: it never changes who one is without asking. */
  | { readonly kind: 'asked'; readonly code: string; readonly isPairing: boolean }
  /** A code was scanned: the person compares the number on the first screen. */
  | { readonly kind: 'pairing'; readonly check: string }
  | { readonly kind: 'exchanging' };

const stored = remembered('session');
const session = signal<Session | null>(readSession());
export const entry = signal<Entry>(session.value ? { kind: 'signed-in' } : { kind: 'signed-out', problem: null });
export const me = computed(() => session.value?.as ?? '');
export const isOwner = computed(() => session.value?.owner ?? false);

export const address = {
  base: BASE,
  token: () => session.peek()?.token ?? null,
  onRefused: () => leave('Your sign-in was revoked or has expired.'),
};
export const api = createBrowserClient(address);

/** Forgets the token of this browser. */
function leave(problem: string | null): void {
  stored.set(null);
  session.value = null;
  entry.value = { kind: 'signed-out', problem };
}

/** Takes the code out of the address before anything else can see it. */
export function takeCode(): void {
  const [, kind, code] = /^#(code|pair)=([\w-]{10,100})$/.exec(location.hash) ?? [];
  if (code === undefined) return;
  const isPairing = kind === 'pair';
  history.replaceState(null, '', `${location.pathname}#/talk`);
  if (session.value) entry.value = { kind: 'asked', code, isPairing };
  else void (isPairing ? pair(code) : signIn(code));
}

const REDEEM_MS = 1000;

/** Signs this browser in if the person confirms its number on the screen that showed the code. */
export async function pair(code: string): Promise<void> {
  entry.value = { kind: 'exchanging' };
  try {
    const { claim, check } = await api.claimPairing({ code, label: nameBrowser() });
    entry.value = { kind: 'pairing', check };
    for (;;) {
      const { token } = await api.redeemPairing(claim);
      if (token) return keep(token);
      await new Promise((resolve) => setTimeout(resolve, REDEEM_MS));
    }
  } catch (error) {
    refuse(error);
  }
}

function keep({ token, as, owner }: Session): void {
  const made = { token, as, owner };
  stored.set(JSON.stringify(made));
  session.value = made;
  entry.value = { kind: 'signed-in' };
}

function refuse(error: unknown): void {
  const problem = error instanceof Error ? error.message : String(error);
  entry.value = session.value ? { kind: 'signed-in' } : { kind: 'signed-out', problem };
}

export async function signIn(code: string): Promise<void> {
  entry.value = { kind: 'exchanging' };
  try {
    keep(await api.signIn({ code, label: nameBrowser() }));
  } catch (error) {
    refuse(error);
  }
}

export async function signOut(): Promise<void> {
  await api.signOut().catch(() => {});
  leave(null);
}

/** Whether the token still works, for how long, and what it may do now. */
export async function refreshSession(): Promise<void> {
  const { handle, owner } = await api.getMe();
  const before = session.value;
  if (!before || (before.as === handle && before.owner === owner)) return;
  session.value = { ...before, as: handle, owner };
  stored.set(JSON.stringify(session.value));
}

function readSession(): Session | null {
  try {
    const found: unknown = JSON.parse(stored.get() ?? 'null');
    if (typeof found !== 'object' || found === null) return null;
    const { token, as, owner } = found as Partial<Session>;
    return typeof token === 'string' && typeof as === 'string' ? { token, as, owner: owner === true } : null;
  } catch {
    return null;
  }
}

function nameBrowser(): string {
  const agent = navigator.userAgent;
  const browser = ['Firefox', 'Edg', 'Chrome', 'Safari'].find((name) => agent.includes(name)) ?? 'Browser';
  const system = ['Android', 'iPhone', 'Windows', 'Mac OS', 'Linux'].find((name) => agent.includes(name));
  return `${browser === 'Edg' ? 'Edge' : browser}${system ? ` on ${system}` : ''}`;
}
