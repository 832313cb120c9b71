import type { CarriedMessage } from './run.ts';

/** A carried message as it stands in a prompt: one header line that only the daemon writes, then the text. */
export function renderMessage(message: CarriedMessage): string {
  return `${headerOf(message)}\n${escapeHeaders(message.text)}`;
}

function headerOf({ kind, from, id, inReplyTo }: CarriedMessage): string {
  switch (kind) {
    case 'reply':
    case 'error':
      return `Reply from ${from} (to message ${inReplyTo}):`;
    case 'late':
      return `Late reply from ${from} (to message ${inReplyTo}):`;
    case 'request':
      return `Message from ${from} (message ${id}, reply expected):`;
    case 'news':
      return `Message from ${from} (message ${id}):`;
    case 'notice':
      return 'Notice from Substrat:';
  }
}

/** Everything that some program takes for the end of a line. */
const LINE_BREAK = /(\r\n|[\n\r\v\f\u0085\u2028\u2029])/;
/** Marks that are not seen, and so could stand before a forged header. */
const INVISIBLE = /[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
const HEADER = /^\\*((late)?replyfrom|messagefrom|noticefrom|errorfrom|substrat:)/i;

/** A line of a body that looks like a header, or like an escaped one, gets a backslash. */
export function escapeHeaders(text: string): string {
  return text
    .split(LINE_BREAK)
    .map((line) => (HEADER.test(line.normalize('NFKC').replace(INVISIBLE, '').slice(0, 200)) ? `\\${line}` : line))
    .join('');
}
