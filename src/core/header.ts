import { forgedLines } from './forgery.ts';
import { toLine } from './line.ts';
import type { CarriedMessage } from './run.ts';

/** Renders a carried message for a prompt: one header line that only the daemon writes, then the text. */
export function renderMessage(message: CarriedMessage): string {
  const files = (message.attachments ?? []).map(
    ({ path, mediaType, size }) => `- ${path} (${mediaType}, ${size} bytes)`,
  );
  const attached = files.length === 0 ? '' : `\n\nAttached files, in your workspace:\n${files.join('\n')}`;
  const claims = (message.evidence ?? []).map((line) => `- ${toLine(line)}`);
  const evidence = claims.length === 0 ? '' : `\n\nEvidence, as far as Substrat has checked it:\n${claims.join('\n')}`;
  return `${headerOf(message)}\n${escapeHeaders(message.text)}${attached}${evidence}`;
}

function headerOf({ kind, from, id, inReplyTo, channel, broadcast }: CarriedMessage): string {
  const where = channel === undefined ? '' : ` in #${channel}`;
  switch (kind) {
    case 'reply':
    case 'error':
      return `Reply from ${from} (to message ${inReplyTo}):`;
    case 'late':
      return `Late reply from ${from} (to message ${inReplyTo}):`;
    case 'request':
      return `Message from ${from} (message ${id}, reply expected):`;
    case 'news':
      if (broadcast === 'heard') return `Message from ${from} (message ${id}, to all siblings):`;
      if (broadcast === 'answered') {
        return `Message from ${from} (message ${id}, to all siblings; your final text is sent back to ${from}, do_nothing prevents it):`;
      }
      return `Message from ${from}${where} (message ${id}):`;
    case 'context':
      return `Also said by ${from}${where} (message ${id}):`;
    case 'notice':
      return 'Notice from Substrat:';
  }
}

/** Everything that some program treats as a line end: every control character except the tab. */
const LINE_BREAK = /(\r\n|[^\P{Cc}\t]|[\u2028\u2029])/u;
/** Invisible characters, which could stand before or within a forged heading. */
const INVISIBLE = /[\s\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}\u2800]+/gu;

/** A line that looks like one of our section headings. Deeper headings belong to the text itself. */
const HEADING = /^#{1,3}(?!#)|^<h[1-3](?!\d)/i;
/** Prefixes that do not stop a line from being rendered as a heading. */
const BEFORE_HEADING = /^(?:\p{N}|[\\>*+.)|_~\p{Pd}])+/u;
const NUMBER_SIGNS = /[\u266f\u2317\u22d5\u29e3\ua59b]/g;
/** A line that turns the line above it into a heading. */
const UNDERLINE = /^\\*(?:=+|[\p{Pd}\u2500\u2501\u2550\u2012\u2015\u2212]+)$/u;

/** Quotes a text: every line starts with the mark, so no line can be taken for a header. */
export function quote(text: string, mark: string): string {
  const parts = text.split(LINE_BREAK);
  return parts.map((part, i) => (i % 2 === 0 ? `${mark}${part}` : part)).join('');
}

/** Puts a backslash before each line of a body that looks like a header or like an escaped header. */
export function escapeHeaders(text: string): string {
  const forged = forgedLines(text);
  return forged.size === 0 ? text : escapeLines(text, (_, n) => forged.has(n));
}

/** Escapes a section of the system prompt, so that it can forge neither headers nor headings. */
export function escapeSection(text: string): string {
  const forged = forgedLines(text);
  return escapeLines(text, (line, n) => forged.has(n) || isHeading(line));
}

function escapeLines(text: string, isForged: (line: string, n: number) => boolean): string {
  return text
    .split(LINE_BREAK)
    .map((part, i) => (i % 2 === 0 && isForged(part, i / 2) ? `\\${part}` : part))
    .join('');
}

function isHeading(line: string): boolean {
  const seen = line.normalize('NFKD').replace(INVISIBLE, '').replace(NUMBER_SIGNS, '#');
  return UNDERLINE.test(seen) || HEADING.test(seen.replace(BEFORE_HEADING, ''));
}
