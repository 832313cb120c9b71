import { SubstratError } from '../core/errors.ts';
import type { SearchFilters } from '../core/knowledge.ts';
import type { ChunkFilter } from '../store/store.ts';

/** Returns null if there is no filter. */
export function readFilter(filters: SearchFilters | undefined): ChunkFilter | null {
  const filter = {
    source: filters?.source?.trim() || null,
    tags: filters?.tags ?? [],
    since: readTime('since', filters?.since),
    until: readTime('until', filters?.until),
  };
  const asked = filter.source !== null || filter.tags.length > 0 || filter.since !== null || filter.until !== null;
  return asked ? filter : null;
}

function readTime(name: string, text: string | undefined): number | null {
  if (text === undefined || text === '') return null;
  const time = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new SubstratError(
    'bad_request',
    `filters.${name} must be a date or a time such as 2026-01-31 or 2026-01-31T12:00:00Z; got ${JSON.stringify(text.slice(0, 40))}.`,
  );
}
