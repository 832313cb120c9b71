import { Readability } from '@mozilla/readability';
import { Parser } from 'htmlparser2';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { type Extracted, plain } from './extracted.ts';
import { decodeText } from './text.ts';

/** If the article is less than this share of the page, the whole page is kept. */
const SHARE = 0.3;
/** No page written by people is nested this deep; deeper ones make tree walks slow or overflow the stack. */
const DEEPEST = 500;

/** Converts a page to Markdown: its article, or all of it if there is none. */
export function extractHtml(bytes: Uint8Array): Extracted {
  const page = decodeText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  checkDepth(page);
  // linkedom does not build a document from a fragment.
  const { document } = parseHTML(/<(body|html)[\s>]/i.test(page) ? page : `<html><body>${page}</body></html>`);
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

function checkDepth(page: string): void {
  let depth = 0;
  const parser = new Parser({
    onopentagname: () => {
      depth += 1;
      if (depth > DEEPEST) throw new Error('it is nested too deep');
    },
    onclosetag: () => {
      depth -= 1;
    },
  });
  parser.end(page);
}

export function htmlToMarkdown(html: string): string {
  const { document } = parseHTML(`<!doctype html><html><body>${html}</body></html>`);
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  service.remove(['script', 'style']);
  // The text is read and searched, not rendered; escapes would prevent matches.
  service.escape = (text) => text;
  return service.turndown(document.body as unknown as TurndownService.Node);
}
