import { hash } from 'node:crypto';
import { basename } from 'node:path';
import type { Document } from '../core/document.ts';
import { newId } from '../core/id.ts';
import { canonicalJson } from '../core/text.ts';
import { chunkWords, WORDS_VERSION } from '../search/search.ts';
import type { NewChunk } from '../store/store.ts';
import { type ChunkLimits, chunkText } from './chunk.ts';
import type { Item, RawDocument } from './connector.ts';
import type { Extracted } from './extract/extracted.ts';
import type { Extractor } from './extract/extractor.ts';
import { type Format, formatOfType } from './extract/format.ts';
import { sectionsOf } from './sections.ts';

/** Increment whenever the same bytes yield other chunks than before. */
const INDEX_VERSION = 2;
const MOST_TAGS = 40;

export interface Indexer {
  readonly extractor: Extractor;
  readonly limits: ChunkLimits;
  readonly clock: () => number;
}

export interface IndexedDocument {
  readonly row: Document;
  /** Computed only once the content is known to be new. */
  readonly chunks: () => NewChunk[];
}

/** The suffix of every version: changed settings reindex everything. */
export function recipeOf({ maxTokens, overlapTokens }: ChunkLimits): string {
  return `${INDEX_VERSION}.${WORDS_VERSION}.${maxTokens}.${overlapTokens}`;
}

export async function indexDocument(
  { extractor, limits, clock }: Indexer,
  {
    source,
    item,
    raw,
    format: named,
    tags,
  }: { source: string; item: Item; raw: RawDocument; format: Format; tags: readonly string[] },
): Promise<IndexedDocument> {
  const format = (raw.contentType ? formatOfType(raw.contentType) : null) ?? named;
  const extracted = await extractor.extract(format, raw.bytes);
  const now = clock();
  const updatedAt = Math.floor(extracted.updatedAt ?? raw.updatedAt ?? item.updatedAt ?? now);
  const described = {
    source,
    sourceId: item.sourceId,
    contentType: format.contentType,
    title: clean(raw.title ?? extracted.title ?? basename(item.sourceId)),
    author: clean(extracted.author ?? raw.author),
    url: raw.url,
    tags: [...new Set([...tags, ...extracted.tags])].slice(0, MOST_TAGS),
    metadata: JSON.parse(clean(canonicalJson({ ...extracted.metadata, ...raw.metadata }))) as Document['metadata'],
  };
  const body = clean(extracted.body);
  const row: Document = {
    ...described,
    body,
    id: newId(),
    version: `${raw.version ?? item.version}|${recipeOf(limits)}`,
    hash: digest(recipeOf(limits), hashedForm(described), body),
    createdAt: Math.floor(extracted.createdAt ?? raw.createdAt ?? updatedAt),
    updatedAt,
    indexedAt: now,
  };
  return { row, chunks: () => chunksOf(extracted.structure, row, limits) };
}

/** These hashes are stored. Changing their input would reindex every document. */
function hashedForm({
  source,
  sourceId,
  contentType,
  tags,
  metadata,
  ...rest
}: Pick<Document, 'source' | 'sourceId' | 'contentType' | 'title' | 'author' | 'url' | 'tags' | 'metadata'>): string {
  return JSON.stringify({
    source,
    source_id: sourceId,
    content_type: contentType,
    ...rest,
    tags: JSON.stringify(tags),
    metadata: canonicalJson(metadata),
  });
}

function chunksOf(
  structure: Extracted['structure'],
  { body, title, sourceId }: Document,
  limits: ChunkLimits,
): NewChunk[] {
  const lines = body.split('\n');
  const sections = sectionsOf(structure, lines, limits.maxTokens * 4);
  return chunkText(body, lines, sections, limits).map(({ text, headings, from, to }, i) => ({
    // The first chunk has the words of the path as well.
    hash: digest(`${WORDS_VERSION}\0${i === 0}\0${title}\0${headings.join('\0')}\0`, text),
    place: { headings, from, to },
    text,
    words: chunkWords({ title, headings, text, path: i === 0 ? sourceId : null }),
  }));
}

/** PostgreSQL rejects NUL. */
function clean<Text extends string | null>(text: Text): Text {
  return (text?.includes('\0') ? text.replaceAll('\0', '\ufffd') : text) as Text;
}

function digest(...parts: readonly string[]): string {
  return hash('sha256', parts.join('\0'), 'hex').slice(0, 32);
}
