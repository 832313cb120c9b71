import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A trusted configuration with every file it names, as they were read at that time. */
export interface TrustRecord {
  /** The real path of the configuration. */
  readonly file: string;
  /** ISO time. */
  readonly at: string;
  /** By path; null for a file that did not exist. The text is stored so that later changes can be shown. */
  readonly files: Readonly<Record<string, { readonly sha256: string; readonly text: string } | null>>;
}

/** The path of a configuration's record, whether or not it exists. */
export function recordPath(home: string, file: string): string {
  return join(folder(home), `${hash('sha256', file)}.json`);
}

export function readRecord(home: string, file: string): TrustRecord | null {
  return parseRecord(recordPath(home, file), file);
}

export function listRecords(home: string): TrustRecord[] {
  let names: string[];
  try {
    names = readdirSync(folder(home));
  } catch {
    return [];
  }
  const found = names
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => parseRecord(join(folder(home), name)) ?? []);
  return found.sort((a, b) => (a.file < b.file ? -1 : 1));
}

export function writeRecord(home: string, record: TrustRecord): void {
  mkdirSync(folder(home), { recursive: true, mode: 0o700 });
  const path = recordPath(home, record.file);
  writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Returns whether there was a record. */
export function removeRecord(home: string, file: string): boolean {
  const known = readRecord(home, file) !== null;
  rmSync(recordPath(home, file), { force: true });
  return known;
}

function folder(home: string): string {
  return join(home, 'trust');
}

/** Returns null if the file is not a record, or is the record of another file. */
function parseRecord(path: string, file?: string): TrustRecord | null {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as TrustRecord;
    const whole = typeof record.file === 'string' && typeof record.files === 'object' && record.files !== null;
    return whole && (file === undefined || record.file === file) ? record : null;
  } catch {
    return null;
  }
}
