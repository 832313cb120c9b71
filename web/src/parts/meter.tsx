/** Rectangles with attributes: no style is needed. */
export function Meter({
  parts,
  whole,
}: {
  readonly parts: readonly { readonly of: number; readonly kind: string }[];
  readonly whole: number;
}) {
  let at = 0;
  return (
    <svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="m-bg" width="100" height="8" />
      {parts.map(({ of, kind }) => {
        const width = whole === 0 ? 0 : Math.min(100 - at, (of / whole) * 100);
        at += width;
        return <rect key={kind} class={`m-${kind}`} x={at - width} width={width} height="8" />;
      })}
    </svg>
  );
}
