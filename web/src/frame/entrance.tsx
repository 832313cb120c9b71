import { Empty } from '../parts/empty.tsx';
import { Icon } from '../parts/icon.tsx';
import { type Entry, entry, me, pair, signIn } from '../state/session.ts';

/** What one sees who is not signed in, or who opened a link while being signed in. */
export function Entrance({ at }: { readonly at: Exclude<Entry, { kind: 'signed-in' }> }) {
  return (
    <main class="col entrance" id="main">
      <div class="brand">
        <Icon name="logo" />
        <span>Substrat</span>
      </div>
      {at.kind === 'exchanging' && <Empty icon="plug" title="Signing in" />}
      {at.kind === 'signed-out' && (
        <Empty icon="plug" title={at.problem ?? 'You are not signed in'}>
          Run <code>substrat page</code> on the machine of the daemon and open the link that it prints. It works once,
          for 2 minutes.
        </Empty>
      )}
      {at.kind === 'pairing' && (
        <Empty icon="plug" title={`Your number is ${at.check}`}>
          Compare it with the number on the screen that showed the code, and confirm there. This page signs in by
          itself.
        </Empty>
      )}
      {at.kind === 'asked' && (
        <Empty
          icon="plug"
          title={`You are signed in as ${me.value}`}
          acts={
            <>
              <button type="button" class="btn main-act" onClick={() => stay()}>
                Stay {me.value}
              </button>
              <button type="button" class="btn" onClick={() => void (at.isPairing ? pair(at.code) : signIn(at.code))}>
                Use the link
              </button>
            </>
          }
        >
          The link that you opened signs in somebody else, perhaps. Use it only if you know who gave it to you.
        </Empty>
      )}
    </main>
  );
}

function stay(): void {
  entry.value = { kind: 'signed-in' };
}
