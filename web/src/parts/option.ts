/** What to write first, if the person must complete an option: "model " of "model NAME". Null if it is an answer. */
export function beginningOf(option: string): string | null {
  return /^(.* )[A-Z]{3,}$/.exec(option)?.[1] ?? null;
}
