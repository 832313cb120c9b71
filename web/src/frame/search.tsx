import { useEffect, useState } from 'preact/hooks';
import type { Said } from '../../../src/client/browser.ts';
import { showClock } from '../parts/time.ts';
import { titleOfChannel } from '../state/channels.ts';
import { go } from '../state/route.ts';
import { api } from '../state/session.ts';
import { Chooser } from './chooser.tsx';

interface Found {
  readonly items: readonly Said[];
  readonly complete: boolean;
}

const PAUSE_MS = 200;
const MOST = 30;

/** Searches the messages of all channels that one sees, as one types. */
export function Search({ onClose }: { readonly onClose: () => void }) {
  const [query, setQuery] = useState('');
  const { found, problem } = useFound(query.trim());
  const open = async (said: Said): Promise<void> => {
    if (!said.messageId || !said.channelId) return;
    // A reply is shown in its thread.
    const message = await api.getMessage(said.messageId).catch(() => null);
    onClose();
    go('talk', said.channelId, message?.parentMessageId ?? said.messageId);
  };
  return (
    <Chooser
      title="Search messages"
      label="Search all messages"
      list="Messages"
      query={query}
      items={found?.items ?? []}
      keyOf={({ messageId }) => messageId ?? ''}
      optionClass="found"
      show={(said) => (
        <>
          <span class="found-by">
            <b>{said.from}</b> <span class="muted">{titleOfChannel(said.channelId)}</span>
            <span class="faint">{showClock(said.createdAt)}</span>
          </span>
          <span class="found-text">{around(said.text, query)}</span>
        </>
      )}
      onQuery={setQuery}
      onPick={(said) => void open(said)}
      onClose={onClose}
    >
      <p class="dialog-note small muted" role="status">
        {problem ?? words(found, query.trim())}
      </p>
    </Chooser>
  );
}

function useFound(query: string): { readonly found: Found | null; readonly problem: string | null } {
  const [state, setState] = useState<{ found: Found | null; problem: string | null }>({ found: null, problem: null });
  useEffect(() => {
    if (query === '') return setState({ found: null, problem: null });
    let gone = false;
    const timer = setTimeout(() => {
      api.findMessages({ q: query, limit: MOST }).then(
        (found) => {
          if (!gone) setState({ found, problem: null });
        },
        (error: Error) => {
          if (!gone) setState({ found: null, problem: error.message });
        },
      );
    }, PAUSE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [query]);
  return state;
}

function words(found: Found | null, query: string): string {
  if (query === '' || !found) return 'Enter opens a message. Ctrl F again finds in this page.';
  if (found.items.length === 0) return 'Nothing was said like that.';
  return found.complete ? `${found.items.length} found` : 'Only the newest 20,000 messages were searched.';
}

const AROUND = 60;

/** The text around the first word that matches, on one line. */
function around(text: string, query: string): string {
  const line = text.replace(/\s+/g, ' ');
  const first = query.trim().toLowerCase().split(/\s+/)[0] ?? '';
  const at = line.toLowerCase().indexOf(first.slice(0, Math.max(3, first.length - 2)));
  const from = Math.max(0, at - AROUND);
  return `${from > 0 ? '…' : ''}${line.slice(from, from + 200)}`;
}
