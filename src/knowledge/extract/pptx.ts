import { type Extracted, fromParts } from './extracted.ts';
import { numberOf, officeProperties } from './office.ts';
import { readXml } from './xml.ts';
import { unzip } from './zip.ts';

/** A presentation's text, slide by slide, with the speaker's notes. */
export function extractPptx(bytes: Uint8Array): Extracted {
  const files = unzip(bytes, (name) => /^(ppt\/(slides|notesSlides)\/\w+\.xml|docProps\/core\.xml)$/.test(name));
  const slides = [...files.keys()]
    .filter((name) => name.startsWith('ppt/slides/'))
    .sort((a, b) => numberOf(a) - numberOf(b));
  if (slides.length === 0) throw new Error('it does not contain slides');
  const parts = slides.map((name, i) => {
    const notes = paragraphs(files.get(name.replace(/slides\/slide/, 'notesSlides/notesSlide')) ?? '');
    return { heading: `Slide ${i + 1}`, text: [paragraphs(files.get(name) ?? ''), notes].filter(Boolean).join('\n\n') };
  });
  return fromParts(parts, { ...officeProperties(files), metadata: { slides: slides.length } });
}

function paragraphs(xml: string): string {
  const lines: string[] = [];
  let line = '';
  let isText = false;
  readXml(xml, {
    open: (name) => {
      isText = name === 't';
      if (name === 'br') line += '\n';
    },
    text: (text) => {
      if (isText) line += text;
    },
    close: (name) => {
      isText = false;
      if (name !== 'p') return;
      if (line.trim() !== '') lines.push(line.trim());
      line = '';
    },
  });
  return lines.join('\n');
}
