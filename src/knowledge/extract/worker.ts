// Reads files that could crash or stall a parser. The parent terminates this thread at a limit (extractor.ts).
import { parentPort } from 'node:worker_threads';
import type { Extracted } from './extracted.ts';
import type { Format } from './format.ts';
import { type FrontMatter, parseFrontMatter } from './markdown.ts';

/** A document to read, or the front matter of one. */
export type Source =
  | { readonly kind: Format['kind']; readonly grammar: string | null; readonly bytes: Uint8Array }
  | { readonly frontMatter: string; readonly strict: boolean };

export type Extraction =
  | { readonly extracted: Extracted }
  | { readonly frontMatter: FrontMatter | null }
  | { readonly error: string };

parentPort?.on('message', async (source: Source) => {
  parentPort?.postMessage(await attempt(source));
});

async function attempt(source: Source): Promise<Extraction> {
  try {
    if ('frontMatter' in source) return { frontMatter: await parseFrontMatter(source.frontMatter, source.strict) };
    return { extracted: await extract(source) };
  } catch (error) {
    const { message } = error as Error;
    return { error: error instanceof RangeError && /call stack/.test(message) ? 'it is nested too deep' : message };
  }
}

async function extract({ kind, grammar, bytes }: Exclude<Source, { frontMatter: string }>): Promise<Extracted> {
  if (kind === 'code') return (await import('./code.ts')).extractCode(bytes, grammar as string);
  if (kind === 'html') return (await import('./html.ts')).extractHtml(bytes);
  if (kind === 'pdf') return (await import('./pdf.ts')).extractPdf(bytes);
  if (kind === 'docx') return (await import('./docx.ts')).extractDocx(bytes);
  if (kind === 'pptx') return (await import('./pptx.ts')).extractPptx(bytes);
  if (kind === 'xlsx') return (await import('./xlsx.ts')).extractXlsx(bytes);
  throw new Error(`files of type ${kind} are not supported`);
}
