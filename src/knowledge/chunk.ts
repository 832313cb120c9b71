import type { Section } from './sections.ts';

export interface Chunk {
  readonly text: string;
  readonly headings: readonly string[];
  /** Its first and last line, from 1. */
  readonly from: number;
  readonly to: number;
}

export interface ChunkLimits {
  readonly maxTokens: number;
  readonly overlapTokens: number;
}

/** As in core/tokens.ts. */
const BYTES_PER_TOKEN = 4;

/** A line, or a part of one that is too long. */
interface Segment {
  readonly text: string;
  /** Its offset in the body. */
  readonly at: number;
  readonly line: number;
  readonly bytes: number;
  readonly endsLine: boolean;
}

/**
 * Cuts a text at its sections, and a section that is too long between paragraphs, then lines, then words. Only chunks
 * cut for their length overlap. A short section is merged with what is below it, or with its short neighbours.
 */
export function chunkText(
  body: string,
  lines: readonly string[],
  sections: readonly Section[],
  limits: ChunkLimits,
): Chunk[] {
  const maxBytes = limits.maxTokens * BYTES_PER_TOKEN;
  const overlapBytes = limits.overlapTokens * BYTES_PER_TOKEN;
  const places = placesOf(lines);
  const chunks: Chunk[] = [];
  let held: Segment[] = [];
  let heldBytes = 0;
  let together = 0;
  let headings: readonly string[] = [];
  const flush = () => {
    if (held.length > 0) chunks.push(...split(body, held, headings, maxBytes, overlapBytes));
    held = [];
    heldBytes = 0;
    together = 0;
  };
  for (const section of sections) {
    const segments = segmentsOf(lines, places, section, maxBytes);
    const bytes = sum(segments);
    const isShort = heldBytes < maxBytes / 8 && heldBytes + bytes <= maxBytes;
    const joins =
      isBelow(section.headings, headings) || (bytes < maxBytes / 8 && isBelow(section.headings, headings.slice(0, -1)));
    if (!isShort || !joins) flush();
    // The text before the first heading has no heading of its own.
    if (held.length === 0 || isBlank(held) || (together === 1 && headings.length === 0)) headings = section.headings;
    else if (!isBelow(section.headings, headings)) headings = headings.slice(0, -1);
    for (const segment of segments) held.push(segment);
    heldBytes += bytes;
    together += 1;
  }
  flush();
  return chunks;
}

function split(
  body: string,
  segments: readonly Segment[],
  headings: readonly string[],
  maxBytes: number,
  overlapBytes: number,
): Chunk[] {
  const chunks: Chunk[] = [];
  for (let begin = 0; begin < segments.length; ) {
    const end = endOf(segments, begin, maxBytes);
    const made = makeChunk(body, segments, begin, end, headings);
    if (made) chunks.push(made);
    if (end >= segments.length) break;
    let next = end;
    for (let bytes = 0; next - 1 > begin; next -= 1) {
      bytes += segments[next - 1]?.bytes ?? 0;
      if (bytes > overlapBytes) break;
    }
    begin = next;
  }
  return chunks;
}

/**
 * The end of a chunk that starts here: after the last empty line that leaves it at least half full, otherwise where
 * it is full.
 */
function endOf(segments: readonly Segment[], begin: number, maxBytes: number): number {
  let bytes = 0;
  let good = -1;
  for (let at = begin; at < segments.length; at += 1) {
    const segment = segments[at] as Segment;
    if (bytes + segment.bytes > maxBytes && at > begin) return good > 0 ? good : at;
    bytes += segment.bytes;
    if (segment.endsLine && segment.text.trim() === '' && bytes > maxBytes / 2) good = at + 1;
  }
  return segments.length;
}

function makeChunk(
  body: string,
  segments: readonly Segment[],
  begin: number,
  end: number,
  headings: readonly string[],
): Chunk | null {
  let first = begin;
  let last = end - 1;
  while (first <= last && segments[first]?.text.trim() === '') first += 1;
  while (last >= first && segments[last]?.text.trim() === '') last -= 1;
  if (first > last) return null;
  const from = segments[first] as Segment;
  const to = segments[last] as Segment;
  return { text: textOf(body, segments, first, last), headings, from: from.line, to: to.line };
}

/** A slice of the body if the segments are contiguous, which copies nothing. Only pages have lines between segments. */
function textOf(body: string, segments: readonly Segment[], first: number, last: number): string {
  let text = '';
  let begin = (segments[first] as Segment).at;
  for (let i = first; i <= last; i += 1) {
    const { at, text: own, endsLine } = segments[i] as Segment;
    const end = at + own.length + (endsLine && i < last ? 1 : 0);
    if (i < last && segments[i + 1]?.at === end) continue;
    text += body.slice(begin, end);
    begin = segments[i + 1]?.at ?? end;
  }
  return text;
}

/** The offset of each line. */
function placesOf(lines: readonly string[]): number[] {
  let at = 0;
  return lines.map((line) => {
    const place = at;
    at += line.length + 1;
    return place;
  });
}

function segmentsOf(
  lines: readonly string[],
  places: readonly number[],
  { from, to }: Section,
  maxBytes: number,
): Segment[] {
  const segments: Segment[] = [];
  for (let line = from; line <= to; line += 1) {
    const text = lines[line - 1] ?? '';
    const bytes = Buffer.byteLength(text) + 1;
    const at = places[line - 1] ?? 0;
    if (bytes <= maxBytes) segments.push({ text, at, line, bytes, endsLine: true });
    else segments.push(...cutLine(text, at, line, Math.max(16, Math.floor(maxBytes / 8))));
  }
  return segments;
}

/** Splits a line longer than a chunk, at spaces where possible. */
function cutLine(text: string, place: number, line: number, pieceBytes: number): Segment[] {
  const segments: Segment[] = [];
  // A UTF-16 unit takes up to three bytes here (a pair takes four).
  const most = Math.max(4, Math.floor(pieceBytes / (Buffer.byteLength(text) === text.length ? 1 : 3)));
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + most, text.length);
    if (end < text.length) {
      const space = text.slice(at, end).lastIndexOf(' ');
      if (space > most / 2) end = at + space + 1;
      else if (/[\udc00-\udfff]/.test(text[end] ?? '')) end += 1;
    }
    const piece = text.slice(at, end);
    segments.push({
      text: piece,
      at: place + at,
      line,
      bytes: Buffer.byteLength(piece) + (end === text.length ? 1 : 0),
      endsLine: end === text.length,
    });
    at = end;
  }
  return segments;
}

function isBelow(path: readonly string[], around: readonly string[]): boolean {
  return around.every((heading, i) => path[i] === heading);
}

function isBlank(segments: readonly Segment[]): boolean {
  return segments.every(({ text }) => text.trim() === '');
}

function sum(segments: readonly Segment[]): number {
  let bytes = 0;
  for (const segment of segments) bytes += segment.bytes;
  return bytes;
}
