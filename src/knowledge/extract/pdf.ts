import { extractText, getDocumentProxy, getMeta } from 'unpdf';
import { type Extracted, fromParts } from './extracted.ts';

const MOST_PAGES = 5_000;

/** A PDF's text, page by page. */
export async function extractPdf(bytes: Uint8Array): Promise<Extracted> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes));
  if (pdf.numPages > MOST_PAGES) throw new Error(`it has ${pdf.numPages} pages; at most ${MOST_PAGES} are read`);
  const { info } = await getMeta(pdf).catch(() => ({ info: {} as Record<string, unknown> }));
  const { text } = await extractText(pdf, { mergePages: false });
  const pages = text.map((page, i) => ({ heading: `Page ${i + 1}`, text: page.trim() }));
  if (pages.every((page) => page.text === '')) throw new Error('it does not contain text; it may be a scan');
  return fromParts(pages, { title: named(info.Title), author: named(info.Author), metadata: { pages: pages.length } });
}

function named(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 500) : null;
}
