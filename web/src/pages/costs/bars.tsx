interface Props<Bar extends { readonly of: string }> {
  readonly title: string;
  /** Oldest first. */
  readonly days: readonly Bar[];
  readonly value: (bar: Bar) => number;
  readonly show: (value: number) => string;
  /** What a bar stands for: "a day". */
  readonly unit?: string;
  /** The figure is the largest value, not the sum. */
  readonly isMost?: boolean;
  readonly isBad?: boolean;
}

/** One bar a day or an hour, made of rectangles; each has its words as a title. */
export function Bars<Bar extends { readonly of: string }>(props: Props<Bar>) {
  const { title, days, value, show, unit = 'a day', isMost = false, isBad = false } = props;
  const values = days.map(value);
  const most = Math.max(...values, 0);
  const sum = values.reduce((a, b) => a + b, 0);
  const width = 100 / days.length;
  return (
    <figure class="plot">
      <figcaption>
        <span class="faint small">{title}</span>
        <span class="fig">
          {show(isMost ? most : sum)} <span>{isMost ? unit : `at most ${show(most)} ${unit}`}</span>
        </span>
      </figcaption>
      <svg
        viewBox="0 0 100 40"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}, ${show(isMost ? most : sum)}`}
      >
        {values.map((one, i) => {
          const height = most === 0 ? 0 : (one / most) * 39;
          return (
            <rect
              key={days[i]?.of}
              class={one === 0 ? 'm-bg' : isBad ? 'm-bad' : 'm-run'}
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
