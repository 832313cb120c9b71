import { styleText } from 'node:util';
import { replaceHidden } from '../core/hidden.ts';

/** The escape codes that turn each style on and off. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

/**
 * Placeholder for our own colour codes while the surrounding text is escaped. Random, so that no text can contain it.
 * Made for the first colour: Node's cryptography is a tenth of what a short command loads.
 */
let brush: string | null = null;

function takeBrush(): string {
  brush ??= `\x1b${process.getBuiltinModule('node:crypto').randomBytes(16).toString('hex')}:`;
  return brush;
}

/** Coloured on a terminal; plain elsewhere and if NO_COLOR is set. Must go through `harmless` before it is printed. */
export function paint(style: keyof typeof STYLES, text: string): string {
  // Asking Node about colours loads a tenth of what a short command loads.
  const isPlain = !process.stdout.isTTY && process.env.FORCE_COLOR === undefined;
  if (isPlain || styleText(style, 'x', { stream: process.stdout }) === 'x') return text;
  const [on, off] = STYLES[style];
  const mark = takeBrush();
  return `${mark}${on}m${text}${mark}${off}m`;
}

/**
 * Makes a text safe for the terminal. It may contain anybody's words, so foreign colours, other controls and hidden
 * characters are shown as JSON escapes; a line of JSON keeps its value.
 */
export function harmless(text: string): string {
  const parts = brush === null ? [text] : text.split(new RegExp(`${brush}(\\d+)m`));
  return parts.map((part, i) => (i % 2 === 1 ? `\x1b[${part}m` : replaceHidden(part, escapeCharacter))).join('');
}

function escapeCharacter(hidden: string, at: number, text: string): string {
  if (hidden === '\n' || hidden === '\t' || (hidden === '\r' && text[at + 1] === '\n')) return hidden;
  const units = Array.from({ length: hidden.length }, (_, i) => hidden.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Columns are as wide as their widest cell; on a terminal the widest ones shrink until a row fits. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows].map((row) => row.map((cell, column) => harmless(onOneLine(cell, column))));
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

/** In the first column, spaces at the beginning show how deep something is. */
function onOneLine(cell: string, column: number): string {
  return column === 0 ? cell.replace(/(?<=\S)\s+/g, ' ') : cell.replace(/\s+/g, ' ');
}

/** Shows a spinner on a terminal. Returns how to stop it; idempotent. */
export function spin(message: string): () => void {
  if (!process.stderr.isTTY) return () => {};
  const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
  let n = 0;
  const draw = (): void => {
    process.stderr.write(`\r${frames[n % frames.length]} ${message}`);
    n += 1;
  };
  draw();
  let timer: NodeJS.Timeout | null = setInterval(draw, 80);
  return () => {
    if (!timer) return;
    clearInterval(timer);
    timer = null;
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
