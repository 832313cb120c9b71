/** One figure of a list of figures. */
export function Fig({ name, value, more }: { readonly name: string; readonly value: string; readonly more?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {more && <span>{more}</span>}
      </dd>
    </div>
  );
}
