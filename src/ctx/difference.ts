/** Beyond this many comparisons all lines are listed, old ones first. */
const MAX_COMPARISONS = 4_000_000;

/** The lines that differ, old ones prefixed with `- `, new ones with `+ `, in the order of the texts. */
export function differenceOf(before: string, after: string): string[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  const shorter = Math.min(old.length, fresh.length) - start;
  while (end < shorter && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  return differing(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
}

function differing(old: readonly string[], fresh: readonly string[]): string[] {
  if (old.length * fresh.length > MAX_COMPARISONS) return [...old.map(removed), ...fresh.map(added)];
  // lengths[i][j]: length of the longest common subsequence of the lines from i and from j.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] as Uint32Array;
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      row[j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    const [one, other] = [old[i], fresh[j]];
    if (one !== undefined && one === other) {
      i += 1;
      j += 1;
    } else if (one !== undefined && (other === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(one));
      i += 1;
    } else {
      lines.push(added(other ?? ''));
      j += 1;
    }
  }
  return lines;
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function removed(line: string): string {
  return `- ${line}`;
}

function added(line: string): string {
  return `+ ${line}`;
}
