import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';

interface Props<Item> {
  readonly title: string;
  /** What one types. */
  readonly label: string;
  /** What is listed. */
  readonly list: string;
  readonly query: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  readonly show: (item: Item) => ComponentChildren;
  readonly optionClass?: string;
  readonly onQuery: (query: string) => void;
  readonly onPick: (item: Item) => void;
  readonly onClose: () => void;
  /** Below the list. */
  readonly children?: ComponentChildren;
}

/** A field and what fits it, in a dialog: arrows move, Enter picks. */
export function Chooser<Item>(props: Props<Item>) {
  const { items, label } = props;
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, Math.max(0, items.length - 1));
  const pick = (item: Item | undefined): void => {
    if (item !== undefined) props.onPick(item);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen((at + step + items.length) % Math.max(1, items.length));
    else if (event.key === 'Enter') pick(items[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label={props.title} class="palette" onClose={props.onClose}>
      <div class="palette-field">
        <input
          class="input"
          role="combobox"
          aria-label={label}
          aria-expanded="true"
          aria-controls="choices"
          aria-activedescendant={items[at] === undefined ? undefined : `choice-${at}`}
          placeholder={label}
          value={props.query}
          onInput={(event) => {
            props.onQuery(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id="choices" role="listbox" aria-label={props.list}>
        {items.map((item, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys.
          <div
            key={props.keyOf(item)}
            id={`choice-${i}`}
            class={props.optionClass}
            role="option"
            aria-selected={i === at}
            tabIndex={-1}
            onClick={() => pick(item)}
          >
            {props.show(item)}
          </div>
        ))}
      </div>
      {props.children}
    </Dialog>
  );
}
