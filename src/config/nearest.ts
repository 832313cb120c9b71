/** The known word that `word` most likely means; null if none is close. */
export function nearest(word: string, known: readonly string[]): string | null {
  const close = known
    .map((candidate) => ({ candidate, limit: Math.max(1, Math.floor(candidate.length / 3)) }))
    .filter(({ candidate, limit }) => Math.abs(candidate.length - word.length) <= limit)
    .map(({ candidate, limit }) => ({
      candidate,
      limit,
      edits: editDistance(word.toLowerCase(), candidate.toLowerCase()),
    }))
    .filter(({ edits, limit }) => edits <= limit && edits < word.length)
    .sort((a, b) => a.edits - b.edits);
  return close[0]?.candidate ?? null;
}

/** The number of insertions, deletions, replacements and adjacent swaps between two words. */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const cost = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j++) {
      const replaced = cost(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(Math.min(replaced, cost(i - 1, j) + 1, cost(i, j - 1) + 1, isSwap ? cost(i - 2, j - 2) + 1 : replaced));
    }
  }
  return cost(from.length, to.length);
}
