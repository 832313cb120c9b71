import { deflateSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';

/** Minimal files of other programs. */

export function zip(files: Record<string, string | Uint8Array>): Buffer {
  const entries = Object.entries(files).map(([name, content]) => [
    name,
    typeof content === 'string' ? strToU8(content) : content,
  ]);
  return Buffer.from(zipSync(Object.fromEntries(entries), { level: 1 }));
}

const CORE = `<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>The title</dc:title><dc:creator>Ann &amp; Bob</dc:creator>
<dcterms:created>2026-01-02T03:04:05Z</dcterms:created></cp:coreProperties>`;

export function docx(...paragraphs: readonly { style?: string; text: string }[]): Buffer {
  const w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
  const body = paragraphs.map(
    ({ style, text }) =>
      `<w:p>${style ? `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>` : ''}<w:r><w:t>${text}</w:t></w:r></w:p>`,
  );
  const types = 'application/vnd.openxmlformats-officedocument.wordprocessingml';
  return zip({
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="${types}.document.main+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/_rels/document.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`,
    'word/document.xml': `<w:document ${w}><w:body>${body.join('')}</w:body></w:document>`,
    'word/styles.xml': `<w:styles ${w}><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>`,
    'docProps/core.xml': CORE,
  });
}

export function pptx(...slides: readonly string[]): Buffer {
  const files = slides.map((text, i) => [
    `ppt/slides/slide${i + 1}.xml`,
    `<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`,
  ]);
  return zip({
    ...Object.fromEntries(files),
    'ppt/notesSlides/notesSlide1.xml': '<p:n><a:p><a:t>a note</a:t></a:p></p:n>',
    'docProps/core.xml': CORE,
  });
}

export function xlsx(sheet: string): Buffer {
  return zip({
    'xl/workbook.xml': '<workbook><sheets><sheet name="Prices" sheetId="1"/></sheets></workbook>',
    'xl/sharedStrings.xml': '<sst><si><t>apple</t></si><si><r><t>pe</t></r><r><t>ar</t></r></si></sst>',
    'xl/worksheets/sheet1.xml': sheet,
    'docProps/core.xml': CORE,
  });
}

/** A PDF with one page per text; `stream` replaces the stream of the last page. */
export function pdf(texts: readonly string[], stream?: { content: Buffer; filter: string }): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  const add = (body: string | Buffer) => {
    offsets.push(parts.reduce((sum, part) => sum + part.length, 0));
    parts.push(Buffer.from(`${offsets.length} 0 obj\n`), Buffer.from(body), Buffer.from('\nendobj\n'));
  };
  const kids = texts.map((_, i) => `${4 + i * 2} 0 R`).join(' ');
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Kids [${kids}] /Count ${texts.length} >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const [i, text] of texts.entries()) {
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${5 + i * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    );
    const own =
      stream && i === texts.length - 1
        ? stream
        : { content: deflateSync(`BT /F1 12 Tf 50 700 Td (${text}) Tj ET`), filter: '/FlateDecode' };
    const head = `<< /Length ${own.content.length} /Filter ${own.filter} >>\nstream\n`;
    add(Buffer.concat([Buffer.from(head), own.content, Buffer.from('\nendstream')]));
  }
  const xref = parts.reduce((sum, part) => sum + part.length, 0);
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = offsets.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer << /Size ${size} /Root 1 0 R >>\nstartxref\n${xref}\n%%EOF`,
    ),
  );
  return Buffer.concat(parts);
}
