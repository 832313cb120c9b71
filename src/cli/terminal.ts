import { styleText } from 'node:util';

/** Coloured on a terminal, plain elsewhere and where NO_COLOR is set. */
export function paint(style: 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** The colours that `paint` gives, and whatever else a terminal would obey. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const OBEYED = /\x1b\[(?:[12]|22|3[12369])m|\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * What we print may be anybody's words, and a terminal does what some characters say: they are shown as JSON writes them, so that a
 * line of JSON stays what it is.
 */
export function harmless(text: string): string {
  return text.replace(OBEYED, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Columns as wide as their widest cell; on a terminal the widest ones give way until a row fits. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows].map((row) => row.map((cell) => cell.replace(/\s+/g, ' ')));
  const widths = narrow(
    head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))),
    process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY,
  );
  return all.map((row, i) => {
    const cells = row.map((cell, column) => pad(cell, widths[column] ?? 0));
    const line = cells.join('  ').trimEnd();
    return i === 0 ? paint('bold', line) : line;
  });
}

/** Shows that something goes on, on a terminal only. Answers how to end it. */
export function spin(message: string): () => void {
  if (!process.stderr.isTTY) return () => {};
  const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
  let n = 0;
  const draw = (): void => {
    process.stderr.write(`\r${frames[n % frames.length]} ${message}`);
    n += 1;
  };
  draw();
  const timer = setInterval(draw, 80);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\x1b[2K');
  };
}

function narrow(widths: number[], columns: number): number[] {
  const fitted = [...widths];
  const total = () => fitted.reduce((sum, width) => sum + width, 2 * (fitted.length - 1));
  while (total() > columns) {
    const widest = fitted.indexOf(Math.max(...fitted));
    if ((fitted[widest] ?? 0) <= 6) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
  }
  return fitted;
}

function pad(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width);
}
