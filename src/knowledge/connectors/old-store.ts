import { SubstratError } from '../../core/errors.ts';
import { parseBounded } from '../../core/json-bounds.ts';
import type { OldStore } from '../../core/old-store.ts';
import { type Connector, type Item, MAX_SOURCE_ID } from '../connector.ts';
import { checkItems } from './script.ts';

const PAGE = 500;
const MAX_BYTES = 64 * 1024 * 1024;

/** The documents of one source of a Context Harness store. `known` are already in our store, and newer. */
export function oldStoreConnector(source: string, old: OldStore, known: ReadonlySet<string>): Connector {
  return {
    source,
    tags: [],
    maxBytes: MAX_BYTES,
    checkpoint: () => null,
    close: async () => {},
    async *list({ signal, onUnlisted }) {
      let after = '';
      for (;;) {
        signal.throwIfAborted();
        const rows = old.list({ source, after, limit: PAGE });
        if (rows.length === 0) return;
        after = rows.at(-1)?.source_id ?? after;
        const items: Item[] = [];
        for (const { source_id: sourceId, updated_at: updatedAt, content_type: type, size } of rows) {
          if (known.has(sourceId)) continue;
          if (Buffer.byteLength(sourceId) > MAX_SOURCE_ID) onUnlisted(sourceId.slice(0, 200), 'its name is too long');
          else {
            const contentType = typeOf(sourceId, type);
            items.push({ sourceId, version: `imported-${updatedAt}`, size, updatedAt: updatedAt * 1_000, contentType });
          }
        }
        yield items;
      }
    },
    async read({ sourceId }) {
      const row = old.read({ source, sourceId });
      if (row === null) return null;
      // The file may be anybody's, so its rows are checked like the items of a script.
      const { items, problems } = checkItems([{ ...row, metadata_json: metadataOf(row.metadata_json) }]);
      const [item] = items;
      if (item === undefined) throw new SubstratError('bad_request', problems[0]?.reason ?? 'it is not a document');
      return {
        bytes: Buffer.from(item.body),
        title: item.title ?? null,
        contentType: typeOf(sourceId, item.content_type ?? ''),
        author: item.author ?? null,
        url: item.source_url ?? null,
        createdAt: item.created_at ?? null,
        updatedAt: item.updated_at ?? null,
        metadata: item.metadata_json ?? {},
      };
    },
  };
}

/** A document is worth more than its metadata. */
function metadataOf(source: string): string {
  try {
    const value: unknown = parseBounded(source);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? source : '{}';
  } catch {
    return '{}';
  }
}

/** A body is text, also that of a PDF. Context Harness gives Markdown files the type of plain text. */
function typeOf(sourceId: string, type: string): string {
  return /\.(md|mdx|markdown)$/i.test(sourceId) || type === 'text/markdown' ? 'text/markdown' : 'text/plain';
}
