const plain = new Intl.NumberFormat();

/** "212 KB". */
export function showSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${plain.format(n)} ${n === 1 ? one : many}`;
}
