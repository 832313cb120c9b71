import { TAG } from '../../core/memory.ts';
import { type Extracted, plain } from './extracted.ts';
import { headingOf, isFence } from './heading.ts';

export type FrontMatter = Readonly<Record<string, unknown>>;

/** Longer front matter is treated as text. */
const MOST_FRONT_MATTER = 16_384;

/**
 * A Markdown text with the fields of its front matter. The front matter stays in the body, so that line numbers match
 * the file.
 */
export function extractMarkdown(body: string, front: FrontMatter | null): Extracted {
  const { title, author, authors, tags, date, created, updated, ...metadata } = front ?? {};
  return plain(body, {
    title: asText(title) ?? firstHeading(body, front !== null),
    author: asText(author) ?? asText(Array.isArray(authors) ? authors.map(asText).filter(Boolean).join(', ') : authors),
    createdAt: asTime(created) ?? asTime(date),
    updatedAt: asTime(updated),
    tags: asTags(tags),
    metadata,
    structure: { by: 'headings' },
  });
}

/** The YAML at the beginning of a text, or null. */
export function frontMatterOf(body: string): string | null {
  if (!body.startsWith('---\n')) return null;
  const end = body.indexOf('\n---', 3);
  if (end < 0 || end > MOST_FRONT_MATTER || !/^\n---[ \t]*(\n|$)/.test(body.slice(end, end + 64))) return null;
  return body.slice(4, end + 1);
}

/**
 * Returns null if it cannot be parsed. Without `strict`, errors are ignored and anything but a mapping is null too.
 * Hostile YAML can take minutes to parse, so only call this in a worker thread.
 */
export async function parseFrontMatter(source: string, strict: boolean): Promise<FrontMatter | null> {
  const { parse } = await import('yaml');
  try {
    const value: unknown = parse(source, strict ? { maxAliasCount: 0 } : { maxAliasCount: 10, logLevel: 'silent' });
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return strict ? {} : null;
    // The round trip through JSON leaves only values that can be stored.
    const text = JSON.stringify(value);
    return text.length > MOST_FRONT_MATTER * 4 ? null : (JSON.parse(text) as FrontMatter);
  } catch {
    return null;
  }
}

function firstHeading(body: string, hasFrontMatter: boolean): string | null {
  const begin = hasFrontMatter ? body.indexOf('\n---', 3) + 4 : 0;
  const end = Math.min(body.length, begin + 20_000);
  let fence: string | null = null;
  for (let at = begin; at < end; ) {
    const lineEnd = body.indexOf('\n', at);
    const line = body.slice(at, lineEnd < 0 || lineEnd > end ? end : lineEnd);
    at += line.length + 1;
    const mark = isFence(line, fence);
    if (mark !== undefined) fence = mark;
    else if (fence === null) {
      const heading = headingOf(line);
      if (heading) return heading.text;
    }
  }
  return null;
}

function asText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 500) : null;
}

function asTime(value: unknown): number | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

function asTags(value: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  return [...new Set(list.map((tag) => String(tag).trim()).filter((tag) => TAG.test(tag)))].slice(0, 20);
}
