import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

/** What was typed into a form, by the names of its fields. */
export interface Given {
  text(name: string): string;
  has(name: string): boolean;
}

/**
 * A form in a dialog. It closes when `onSubmit` succeeds, and says what failed. After a change of a field a click outside
 * does not close it, and Escape asks first.
 */
export function FormDialog(props: {
  readonly title: string;
  readonly submit: string;
  readonly onSubmit: (given: Given) => Promise<void>;
  readonly onClose: () => void;
  /** Stands at the other end of the buttons. */
  readonly also?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const [problem, setProblem] = useState<string | null>(null);
  const isChanged = useRef(false);
  const [isAsking, setAsking] = useState(false);
  const onDismiss = (by: 'escape' | 'click'): boolean => {
    if (!isChanged.current || (isAsking && by === 'escape')) return true;
    setAsking(true);
    return false;
  };
  const change = (): void => {
    isChanged.current = true;
    setAsking(false);
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const data = new FormData(event.currentTarget);
    setProblem(null);
    try {
      await props.onSubmit({
        text: (name) => String(data.get(name) ?? '').trim(),
        has: (name) => data.has(name),
      });
      props.onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Dialog label={props.title} onClose={props.onClose} onDismiss={onDismiss}>
      <form class="dialog-form" onInput={change} onSubmit={(event) => void submit(event)}>
        <div class="dialog-head">
          <h2>{props.title}</h2>
        </div>
        <div class="dialog-body">
          {props.children}
          {problem && (
            <p class="bad" role="alert">
              {problem}
            </p>
          )}
          {isAsking && <p role="alert">Your changes are not saved. Cancel, or Escape again, discards them.</p>}
        </div>
        <div class="dialog-foot">
          {props.also && (
            <>
              {props.also}
              <span class="grow" />
            </>
          )}
          <button type="button" class="btn" onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" class="btn main-act">
            {props.submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly value?: string;
  readonly inputMode?: 'decimal';
}

export function Field({ name, label, hint, placeholder, required = false, value, inputMode }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        name={name}
        placeholder={placeholder}
        required={required}
        autocomplete="off"
        inputMode={inputMode}
        defaultValue={value}
      />
      {hint && <small>{hint}</small>}
    </label>
  );
}

interface SelectProps {
  readonly name: string;
  readonly label: string;
  /** Each with the words for it. */
  readonly options: readonly (readonly [string, string])[];
  readonly onChange?: (value: string) => void;
}

export function Select({ name, label, options, onChange }: SelectProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select class="input" name={name} onChange={(event) => onChange?.(event.currentTarget.value)}>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
