import { useState } from 'preact/hooks';
import type { Message } from '../../../../src/client/browser.ts';
import { Icon } from '../../parts/icon.tsx';
import { putMessage } from '../../state/rooms.ts';
import { api, me } from '../../state/session.ts';

const OFTEN = ['👍', '👀', '✅', '❌', '🎉', '❤️', '🙏', '🤔'];
/** More kinds of reactions than this are a number. */
const MOST = 20;

/** The reactions of a message, or the button that adds one. */
export function Reactions({ message, adding }: { readonly message: Message; readonly adding?: boolean }) {
  const { messageId, reactions } = message;
  const toggle = async (emoji: string): Promise<void> => {
    const mine = reactions.some((one) => one.emoji === emoji && one.users.includes(me.value));
    putMessage(await (mine ? api.unreact(messageId, emoji) : api.react(messageId, emoji)));
  };
  if (adding) return <Picker onPick={(emoji) => void toggle(emoji)} />;
  return (
    <div class="reacts">
      {reactions.slice(0, MOST).map(({ emoji, users }) => (
        <button
          key={emoji}
          type="button"
          class="react"
          aria-pressed={users.includes(me.value)}
          aria-label={`${emoji}, ${users.length}`}
          title={users.slice(0, 12).join(', ') + (users.length > 12 ? ` and ${users.length - 12} more` : '')}
          onClick={() => void toggle(emoji)}
        >
          <span aria-hidden="true">{emoji}</span>
          <span aria-hidden="true">{users.length}</span>
        </button>
      ))}
      {reactions.length > MOST && <span class="faint small">{reactions.length - MOST} more kinds</span>}
    </div>
  );
}

function Picker({ onPick }: { readonly onPick: (emoji: string) => void }) {
  const [open, setOpen] = useState(false);
  const pick = (emoji: string): void => {
    setOpen(false);
    onPick(emoji);
  };
  return (
    <span class="picker">
      <button
        type="button"
        class="btn quiet square"
        aria-label="React"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false);
        }}
      >
        <Icon name="face" />
      </button>
      {open && (
        <span class="picker-list">
          {OFTEN.map((emoji) => (
            <button key={emoji} type="button" class="btn quiet square" aria-label={emoji} onClick={() => pick(emoji)}>
              {emoji}
            </button>
          ))}
        </span>
      )}
    </span>
  );
}
