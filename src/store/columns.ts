/**
 * Records use camelCase names, booleans, lists and objects. The database has snake_case columns, 0 and 1, and JSON text. A column
 * name means the same in every table, so the name alone says how a value is decoded.
 */

const BOOLEANS = new Set([
  'able',
  'blocking',
  'completing',
  'effect',
  'gateTold',
  'indexed',
  'isError',
  'late',
  'lost',
  'made',
  'once',
  'open',
  'permitted',
  'plain',
  'quiet',
  'ready',
  'relative',
  'restTold',
  'saved',
  'seatNew',
  'tallied',
  'toldPaused',
  'toldSpent',
  'wipSaved',
]);
const JSON_COLUMNS = new Set([
  'answer',
  'answerers',
  'applied',
  'args',
  'asked',
  'data',
  'failedAttempts',
  'fallback',
  'labels',
  'leftOut',
  'maySpawn',
  'metadata',
  'network',
  'options',
  'nodeShared',
  'personaArgs',
  'place',
  'providers',
  'response',
  'revisedArgs',
  'sections',
  'settings',
  'shared',
  'tags',
  'told',
  'tools',
  'wipLeftOut',
]);

type Decode = (value: unknown) => unknown;

interface Column {
  readonly name: string;
  readonly decode: Decode | null;
}

const columns = new Map<string, Column>();

export function recordsOf<R>(rows: readonly unknown[]): R[] {
  return rows.map((row) => {
    const record: Record<string, unknown> = {};
    // Faster than entries: wide rows are read with every call of a tool.
    for (const column in row as object) {
      const value = (row as Record<string, unknown>)[column];
      const { name, decode } = columnOf(column);
      record[name] = decode && value !== null ? decode(value) : value;
    }
    return record as R;
  });
}

/** Encodes a parameter for both engines. */
export function encode(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) return JSON.stringify(value);
  return value;
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function columnOf(column: string): Column {
  let known = columns.get(column);
  if (!known) {
    const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    known = { name, decode: decoderOf(name) };
    columns.set(column, known);
  }
  return known;
}

function decoderOf(name: string): Decode | null {
  if (BOOLEANS.has(name)) return (value) => value !== 0;
  return JSON_COLUMNS.has(name) ? (value) => JSON.parse(String(value)) : null;
}
