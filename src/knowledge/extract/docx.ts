import mammoth from 'mammoth';
import { type Extracted, plain } from './extracted.ts';
import { htmlToMarkdown } from './html.ts';
import { officeProperties } from './office.ts';
import { unzip } from './zip.ts';

/** A Word document as Markdown. */
export async function extractDocx(bytes: Uint8Array): Promise<Extracted> {
  // mammoth unpacks everything without limits, so unpack it here first, within limits.
  const files = unzip(bytes, () => true);
  const { value } = await mammoth.convertToHtml(
    { buffer: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
    { convertImage: mammoth.images.imgElement(async () => ({ src: '' })), externalFileAccess: false },
  );
  return plain(htmlToMarkdown(value), { ...officeProperties(files), structure: { by: 'headings' } });
}
