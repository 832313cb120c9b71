import { type Extracted, fromParts } from './extracted.ts';
import { numberOf, officeProperties } from './office.ts';
import { readXml } from './xml.ts';
import { unzip } from './zip.ts';

/** A workbook, sheet by sheet, one line per row, with bars between cells. */
export function extractXlsx(bytes: Uint8Array): Extracted {
  const files = unzip(bytes, (name) =>
    /^(xl\/(workbook|sharedStrings|worksheets\/\w+)\.xml|docProps\/core\.xml)$/.test(name),
  );
  const sheets = [...files.keys()]
    .filter((name) => name.startsWith('xl/worksheets/'))
    .sort((a, b) => numberOf(a) - numberOf(b));
  if (sheets.length === 0) throw new Error('it does not contain sheets');
  const names: string[] = [];
  readXml(files.get('xl/workbook.xml') ?? '', {
    open: (name, attributes) => {
      if (name === 'sheet') names.push(attributes.name ?? '');
    },
  });
  const strings = sharedStrings(files.get('xl/sharedStrings.xml') ?? '');
  const parts = sheets.map((name, i) => ({
    heading: names[i] || `Sheet ${i + 1}`,
    text: rows(files.get(name) ?? '', strings).join('\n'),
  }));
  return fromParts(parts, { ...officeProperties(files), metadata: { sheets: names } });
}

function sharedStrings(xml: string): string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  readXml(xml, {
    open: (name) => {
      isText = name === 't';
    },
    text: (part) => {
      if (isText) text += part;
    },
    close: (name) => {
      isText = false;
      if (name !== 'si') return;
      strings.push(text);
      text = '';
    },
  });
  return strings;
}

function rows(xml: string, strings: readonly string[]): string[] {
  const lines: string[] = [];
  let cells: string[] = [];
  let type = '';
  let value = '';
  let isValue = false;
  readXml(xml, {
    open: (name, attributes) => {
      isValue = name === 'v' || name === 't';
      if (name !== 'c') return;
      type = attributes.t ?? '';
      value = '';
    },
    text: (part) => {
      if (isValue) value += part;
    },
    close: (name) => {
      isValue = false;
      if (name === 'c') cells.push((type === 's' ? (strings[Number(value)] ?? '') : value).replace(/\s+/g, ' '));
      if (name !== 'row') return;
      if (cells.some((cell) => cell !== '')) lines.push(cells.join(' | '));
      cells = [];
    },
  });
  return lines;
}
