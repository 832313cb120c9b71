/** A field that searches as one types. */
export function SearchField(props: {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
}) {
  return (
    <input
      class="input grow"
      type="search"
      aria-label={props.label}
      placeholder={props.placeholder ?? props.label}
      value={props.value}
      onInput={(event) => props.onInput(event.currentTarget.value)}
    />
  );
}
