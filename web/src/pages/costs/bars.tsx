import type { Day } from './costs.tsx';

interface Props {
  readonly title: string;
  readonly days: readonly Day[];
  readonly value: (day: Day) => number;
  readonly show: (value: number) => string;
}

/** One bar a day, made of rectangles; its words are in a list for those who do not see it. */
export function Bars({ title, days, value, show }: Props) {
  const values = days.map(value);
  const most = Math.max(...values, 0);
  const sum = values.reduce((a, b) => a + b, 0);
  const width = 100 / days.length;
  return (
    <figure class="plot">
      <figcaption>
        <span class="faint small">{title}</span>
        <span class="fig">
          {show(sum)} <span>at most {show(most)} a day</span>
        </span>
      </figcaption>
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={`${title} by day`}>
        {values.map((one, i) => {
          const height = most === 0 ? 0 : (one / most) * 39;
          return (
            <rect
              key={days[i]?.of}
              class={one === 0 ? 'm-bg' : 'm-run'}
              x={i * width + width * 0.1}
              width={width * 0.8}
              y={40 - Math.max(height, 0.6)}
              height={Math.max(height, 0.6)}
            >
              <title>{`${days[i]?.of}: ${show(one)}`}</title>
            </rect>
          );
        })}
      </svg>
      <span class="ends faint small">
        <span>{days[0]?.of}</span>
        <span>{days.at(-1)?.of}</span>
      </span>
    </figure>
  );
}
