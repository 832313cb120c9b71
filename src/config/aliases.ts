import { keyName, type Problem } from './report.ts';

type Path = readonly string[];
type Table = Record<string, unknown>;

interface Alias {
  /** `*` stands for any name. */
  readonly from: string;
  /** The key of the same table that replaces it; null if it has no effect. */
  readonly to: string | null;
  readonly convert?: (value: unknown, present: unknown) => unknown;
  /** Why it has no effect. A value for which this returns null is what happens anyway. */
  readonly why?: (value: unknown) => string | null;
}

const MB = 1024 * 1024;
const fileKeys = (type: string): Alias[] => [
  { from: `connectors.${type}.*.include_globs`, to: 'include' },
  { from: `connectors.${type}.*.exclude_globs`, to: 'exclude' },
  {
    from: `connectors.${type}.*.max_extract_bytes`,
    to: 'max_file_mb',
    convert: whole((bytes) => Math.ceil(bytes / MB)),
  },
];

/** The keys of Context Harness that have another name here, or no effect. */
export const ALIASES: readonly Alias[] = [
  ...['filesystem', 'git', 's3'].flatMap(fileKeys),
  { from: 'connectors.git.*.cache_dir', to: null, why: () => 'clones are stored in the home' },
  { from: 'embedding.dims', to: 'dimension' },
  { from: 'embedding.batch_size', to: 'batch' },
  { from: 'embedding.max_retries', to: 'retries' },
  { from: 'embedding.timeout_secs', to: 'timeout', convert: whole((seconds) => `${seconds}s`) },
  { from: 'retrieval.candidate_k_keyword', to: 'candidates', convert: larger },
  { from: 'retrieval.candidate_k_vector', to: 'candidates', convert: larger },
  { from: 'retrieval.group_by', to: null, why: (value) => (value === 'document' ? null : 'results are documents') },
  { from: 'retrieval.doc_agg', to: null, why: (value) => (value === 'max' ? null : 'the best chunk ranks a document') },
  { from: 'retrieval.max_chunks_per_doc', to: null, why: () => 'a result shows the best passages of its document' },
  { from: 'registries.*.auto_update', to: null, why: (on) => (on === true ? 'run `ctx registry update`' : null) },
  { from: 'registries.*.readonly', to: null, why: () => null },
  { from: 'vector_index', to: null, why: () => 'vectors are searched in the store' },
];

export interface Renamed {
  readonly document: Table;
  /** The path of a key as written in the file. */
  readonly written: (path: readonly PropertyKey[]) => readonly PropertyKey[];
  /** Keys without effect. */
  readonly notes: readonly Problem[];
  /** Keys that are present under both names. */
  readonly problems: readonly Problem[];
}

/** Replaces the names of Context Harness by ours, in the document itself. */
export function renameOld(document: Table): Renamed {
  const origins = new Map<string, Path>();
  const notes: Problem[] = [];
  const problems: Problem[] = [];
  for (const { from, to, convert, why } of ALIASES) {
    for (const path of matches(document, from.split('.'))) {
      const key = path.at(-1) ?? '';
      const table = at(document, path.slice(0, -1)) as Table;
      const value = table[key];
      delete table[key];
      if (to === null) {
        const reason = why?.(value) ?? null;
        if (reason !== null) notes.push({ path, text: `${keyName(path)} has no effect: ${reason}` });
        continue;
      }
      const target = [...path.slice(0, -1), to];
      if (Object.hasOwn(table, to) && !origins.has(target.join('.'))) {
        problems.push({ path, text: `${keyName(path)} is an old name of "${to}", which is set too; remove one` });
        continue;
      }
      table[to] = convert ? convert(value, table[to]) : value;
      origins.set(target.join('.'), path);
    }
  }
  const written = (path: readonly PropertyKey[]): readonly PropertyKey[] => {
    for (let length = path.length; length > 0; length--) {
      const origin = origins.get(path.slice(0, length).map(String).join('.'));
      if (origin) return [...origin, ...path.slice(length)];
    }
    return path;
  };
  return { document, written, notes, problems };
}

/** Every path of the document that the pattern describes. */
function matches(document: Table, pattern: Path): Path[] {
  let found: Path[] = [[]];
  for (const part of pattern) {
    found = found.flatMap((path) => {
      const table = at(document, path);
      if (!isTable(table)) return [];
      const keys = part === '*' ? Object.keys(table) : Object.hasOwn(table, part) ? [part] : [];
      return keys.map((key) => [...path, key]);
    });
  }
  return found;
}

function at(document: Table, path: Path): unknown {
  return path.reduce<unknown>((table, key) => (isTable(table) ? table[key] : undefined), document);
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Converts numbers; the schema reports anything else. */
function whole(convert: (value: number) => unknown): (value: unknown) => unknown {
  return (value) => (typeof value === 'number' ? convert(value) : value);
}

function larger(value: unknown, present: unknown): unknown {
  return typeof value === 'number' && typeof present === 'number' ? Math.max(value, present) : value;
}
