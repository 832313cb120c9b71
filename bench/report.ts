import { table } from '../src/command-line/terminal.ts';
import { isMet, measureOf, type Row } from './measure.ts';

const HEAD = ['BENCHMARK', 'YARDSTICK', 'RESULT', 'RATIO', 'GOAL', ''];

export function reportLines(rows: readonly Row[]): string[] {
  return table(
    HEAD,
    rows.map((row) => [
      row.name,
      row.yardstick === null ? '' : `${short(row.yardstick)} ${row.unit}`,
      `${short(row.result)} ${row.unit}`,
      row.yardstick ? `${(row.result / row.yardstick).toFixed(2)}x` : '',
      goalOf(row),
      hasGoal(row) ? (isMet(row) ? 'met' : 'MISSED') : '',
    ]),
  );
}

export function toJson(row: Row): object {
  return { ...row, measure: measureOf(row), met: hasGoal(row) ? isMet(row) : null };
}

function hasGoal({ atMost, atLeast }: Row): boolean {
  return atMost !== undefined || atLeast !== undefined;
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
