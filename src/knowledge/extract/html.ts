import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { type Extracted, plain } from './extracted.ts';
import { decodeText } from './text.ts';

/** A page of which less than this share is an article is kept whole. */
const SHARE = 0.3;

/** A page as Markdown: its article without what stands around it, or all of it where there is none. */
export function extractHtml(bytes: Uint8Array): Extracted {
  const { document } = parseHTML(decodeText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
  for (const element of document.querySelectorAll('script, style, noscript, template, iframe, svg')) element.remove();
  const meta = (name: string) =>
    document.querySelector(`meta[name="${name}"], meta[property="${name}"]`)?.getAttribute('content')?.trim() || null;
  const title =
    document.querySelector('title')?.textContent?.trim() || document.querySelector('h1')?.textContent?.trim() || null;
  const author = meta('author') ?? meta('article:author');
  const published = Date.parse(meta('article:published_time') ?? '');
  const description = meta('description');
  const whole = document.body?.innerHTML ?? document.documentElement?.innerHTML ?? '';
  const length = document.body?.textContent?.length ?? 0;
  const article = new Readability(document as unknown as ConstructorParameters<typeof Readability>[0]).parse();
  const isArticle = article?.content && (article.textContent?.length ?? 0) > length * SHARE;
  return plain(htmlToMarkdown(isArticle ? (article.content as string) : whole), {
    title: title?.slice(0, 500) ?? null,
    author,
    createdAt: Number.isNaN(published) ? null : published,
    metadata: description === null ? {} : { description: description.slice(0, 1000) },
    structure: { by: 'headings' },
  });
}

export function htmlToMarkdown(html: string): string {
  const { document } = parseHTML(`<!doctype html><html><body>${html}</body></html>`);
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  service.remove(['script', 'style']);
  return service.turndown(document.body as unknown as TurndownService.Node);
}
