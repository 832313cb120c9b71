import { useEffect, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { showWait } from '../parts/time.ts';
import { now } from '../state/clock.ts';
import { api } from '../state/session.ts';
import { encodeQr } from '../text/qr.ts';

const LOOK_MS = 1000;

interface Pairing {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: string;
}

type State =
  | { readonly kind: 'starting' }
  | { readonly kind: 'shown'; readonly pairing: Pairing }
  | { readonly kind: 'claimed'; readonly id: string; readonly label: string; readonly check: string }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly problem: string };

/** A QR code that a phone scans; the phone is signed in only after its number was confirmed here. */
export function PairPhone({ onClose }: { readonly onClose: () => void }) {
  const [state, setState] = useState<State>({ kind: 'starting' });
  const fail = (error: Error): void => setState({ kind: 'failed', problem: error.message });
  useEffect(() => {
    let timer: ReturnType<typeof setInterval> | undefined;
    let gone = false;
    const look = async (pairing: Pairing): Promise<void> => {
      const { state: at, label, check } = await api.getPairing(pairing.id);
      if (gone || at !== 'claimed') return;
      clearInterval(timer);
      setState({ kind: 'claimed', id: pairing.id, label: label ?? '', check: check ?? '' });
    };
    api.startPairing().then((pairing) => {
      if (gone) return;
      setState({ kind: 'shown', pairing });
      timer = setInterval(() => {
        look(pairing).catch((error: Error) => {
          clearInterval(timer);
          if (!gone) fail(error);
        });
      }, LOOK_MS);
    }, fail);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, []);
  const settle = (what: Promise<unknown>, next: State): void => {
    what.then(() => setState(next), fail);
  };
  return (
    <Dialog label="Pair a phone" onClose={onClose}>
      <div class="dialog-head">
        <h2>Pair a phone</h2>
      </div>
      <div class="dialog-body">
        {state.kind === 'starting' && <p class="muted">Making a code.</p>}
        {state.kind === 'failed' && (
          <p class="bad" role="alert">
            {state.problem}
          </p>
        )}
        {state.kind === 'shown' && (
          <>
            <p>
              Scan this code with the phone. It is valid for {showWait(Date.parse(state.pairing.expiresAt) - now.value)}
              .
            </p>
            <Qr text={state.pairing.url} />
          </>
        )}
        {state.kind === 'claimed' && (
          <>
            <p>
              <b>{state.label || 'A browser'}</b> asks to sign in as you. Confirm only if the phone shows this number:
            </p>
            <p class="big">{state.check}</p>
          </>
        )}
        {state.kind === 'done' && <p>The phone is signed in. You can revoke it under Costs and health.</p>}
      </div>
      <div class="dialog-foot">
        {state.kind === 'claimed' ? (
          <>
            <button
              type="button"
              class="btn danger"
              onClick={() => settle(api.cancelPairing(state.id), { kind: 'failed', problem: 'Refused.' })}
            >
              Refuse
            </button>
            <button
              type="button"
              class="btn main-act"
              onClick={() => settle(api.confirmPairing(state.id), { kind: 'done' })}
            >
              It shows {state.check}: sign it in
            </button>
          </>
        ) : (
          <button type="button" class="btn" onClick={onClose}>
            Close
          </button>
        )}
      </div>
    </Dialog>
  );
}

const QUIET = 4;

/** Dark on white in every theme: scanners expect it. */
function Qr({ text }: { readonly text: string }) {
  const modules = encodeQr(text);
  if (!modules) return <p class="bad">The address is too long for a code.</p>;
  const size = modules.length + 2 * QUIET;
  const path = modules.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code" shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path.join('')} fill="#000" />
    </svg>
  );
}
