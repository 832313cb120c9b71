const MOST = 8;

/** The mention that is being typed, and those that it may become. */
export interface Completing {
  readonly from: number;
  readonly to: number;
  readonly found: readonly string[];
  readonly chosen: number;
  /** Whether the key was for the list. */
  onKey(event: KeyboardEvent, pick: (handle: string) => void, set: (next: Completing | null) => void): boolean;
}

/** The mention at the caret; null if there is none that somebody could be. */
export function completionAt(field: HTMLTextAreaElement, handles: readonly string[]): Completing | null {
  const to = field.selectionStart;
  const typed = /(?:^|\s)@([\p{L}\p{N}_.-]*)$/u.exec(field.value.slice(0, to));
  if (!typed) return null;
  const wanted = (typed[1] ?? '').toLowerCase();
  const found = handles.filter((handle) => handle.toLowerCase().startsWith(wanted)).slice(0, MOST);
  return found.length === 0 ? null : create({ from: to - wanted.length - 1, to, found, chosen: 0 });
}

function create(at: Omit<Completing, 'onKey'>): Completing {
  return {
    ...at,
    onKey: (event, pick, set) => {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      const handle = at.found[at.chosen];
      if (step !== 0) set(create({ ...at, chosen: (at.chosen + step + at.found.length) % at.found.length }));
      else if (event.key === 'Escape') set(null);
      else if ((event.key === 'Enter' || event.key === 'Tab') && handle !== undefined) pick(handle);
      else return false;
      return true;
    },
  };
}

export function Completion({ at, onPick }: { readonly at: Completing; readonly onPick: (handle: string) => void }) {
  return (
    <div class="completion" role="listbox" aria-label="Mention">
      {at.found.map((handle, i) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
        <div
          key={handle}
          role="option"
          tabIndex={-1}
          aria-selected={i === at.chosen}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onPick(handle)}
        >
          @{handle}
        </div>
      ))}
    </div>
  );
}
