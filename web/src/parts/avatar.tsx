/** People are round, agents are square. */
export function Avatar({
  handle,
  person,
  small,
}: {
  readonly handle: string;
  readonly person: boolean;
  readonly small?: boolean;
}) {
  return (
    <span class={`ava${person ? ' person' : ''}${small ? ' s' : ''}`} aria-hidden="true">
      {[...handle][0] ?? '?'}
    </span>
  );
}
