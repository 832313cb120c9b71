import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A modal dialog, open as long as it is rendered. Escape and a click outside close it, unless `onDismiss` keeps it. */
export function Dialog(props: {
  readonly label: string;
  readonly class?: string;
  readonly onClose: () => void;
  /** Before Escape or a click outside closes it; false keeps it open. */
  readonly onDismiss?: (by: 'escape' | 'click') => boolean;
  readonly children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const dismiss = (by: 'escape' | 'click'): void => {
    if (props.onDismiss?.(by) ?? true) props.onClose();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself.
    <dialog
      ref={ref}
      class={props.class}
      aria-label={props.label}
      onCancel={(event) => {
        event.preventDefault();
        dismiss('escape');
      }}
      // Browsers close it without asking if Escape is pressed twice.
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === ref.current) dismiss('click');
      }}
    >
      {props.children}
    </dialog>
  );
}
