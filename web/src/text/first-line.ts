/** The first line of a Markdown text as plain words, cut: for titles and rows. */
export function firstLine(text: string, most = 140): string {
  const line = (text.trim().split('\n', 1)[0] ?? '').replace(/^#{1,6} |^> |\*\*|__|`/g, '');
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
