import type { JSX } from 'preact';

/** The nine shapes. A mark never stands without its reason beside it, so it is hidden from screen readers. */
export type Mark = 'run' | 'wait' | 'need' | 'park' | 'queue' | 'idle' | 'fail' | 'limit' | 'done';

const line = { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6, 'stroke-linecap': 'round' } as const;
const SHAPES: Readonly<Record<Mark, () => JSX.Element>> = {
  run: () => (
    <>
      <circle cx="7" cy="7" r="5.5" {...line} stroke-width={2} opacity=".28" />
      <path class="spin" d="M7 1.5A5.5 5.5 0 0 1 12.5 7" {...line} stroke-width={2} />
      <circle cx="7" cy="7" r="2.2" fill="currentColor" />
    </>
  ),
  wait: () => (
    <>
      <circle cx="7" cy="7" r="5.5" {...line} />
      <path d="M7 3.9V7l2.2 1.4" {...line} />
    </>
  ),
  need: () => <path d="M7 .8 13.2 7 7 13.2.8 7z" fill="currentColor" />,
  park: () => (
    <>
      <rect x="1.3" y="1.3" width="11.4" height="11.4" rx="2.5" {...line} />
      <path d="M5.4 4.6v4.8M8.6 4.6v4.8" {...line} />
    </>
  ),
  queue: () => <circle cx="7" cy="7" r="5.3" {...line} stroke-linecap="butt" stroke-dasharray="2 2.16" />,
  idle: () => <circle cx="7" cy="7" r="5.3" {...line} />,
  fail: () => (
    <>
      <path d="M4.3.9h5.4l3.4 3.4v5.4l-3.4 3.4H4.3L.9 9.7V4.3z" fill="currentColor" />
      <path class="cross" d="m5 5 4 4M9 5 5 9" {...line} stroke={undefined} />
    </>
  ),
  limit: () => (
    <>
      <rect x="3.3" y=".9" width="7.4" height="12.2" rx="2" {...line} />
      <rect x="5" y="4.6" width="4" height="6.9" fill="currentColor" />
    </>
  ),
  done: () => <path d="m2.5 7.5 3 3 6-7" {...line} stroke-width={1.8} stroke-linejoin="round" />,
};

export function StateMark({ mark }: { readonly mark: Mark }) {
  return (
    <svg class={`state ${mark}`} viewBox="0 0 14 14" aria-hidden="true">
      {SHAPES[mark]()}
    </svg>
  );
}
