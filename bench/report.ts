import { table } from '../src/command-line/terminal.ts';
import { measureOf, type Row, spreadOf, verdictOf } from './measure.ts';

const HEAD = ['BENCHMARK', 'YARDSTICK', 'RESULT', 'RATIO', 'INTERVAL', 'GOAL', ''];

export function reportLines(rows: readonly Row[]): string[] {
  return table(
    HEAD,
    rows.map((row) => [
      row.name,
      row.yardstick === null ? '' : `${short(row.yardstick)} ${row.unit}${spread(row)}`,
      `${short(row.result)} ${row.unit}`,
      row.yardstick ? `${(row.result / row.yardstick).toFixed(2)}x` : '',
      interval(row),
      goalOf(row),
      `${verdictOf(row)}${row.busy === undefined ? '' : ` (others: ${Math.round(row.busy * 100)} %)`}`,
    ]),
  );
}

export function toJson(row: Row): object {
  return { ...row, ...measureOf(row), verdict: verdictOf(row) };
}

function spread(row: Row): string {
  const part = spreadOf(row);
  return part === null ? '' : ` ±${Math.round(part * 100)} %`;
}

function interval(row: Row): string {
  const { low, high } = measureOf(row);
  if (low === high) return '';
  return `${low.toFixed(2)} to ${high.toFixed(2)} (${row.rounds?.length} rounds)`;
}

function goalOf({ atMost, atLeast, goalOf: of, unit }: Row): string {
  const bound = atMost ?? atLeast;
  if (bound === undefined) return '';
  const sign = atMost === undefined ? 'at least' : 'at most';
  if (of === 'ratio') return `${sign} ${bound}x`;
  return `${sign} ${of === 'difference' ? '+' : ''}${bound} ${unit}`.trimEnd();
}

function short(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(value < 1 ? 3 : value < 100 ? 1 : 0);
}
