import type { CarriedMessage } from './run.ts';

/** A carried message as it stands in a prompt: one header line that only the daemon writes, then the text. */
export function renderMessage(message: CarriedMessage): string {
  return `${headerOf(message)}\n${escapeHeaders(message.text)}`;
}

function headerOf({ kind, from, id, inReplyTo, channel }: CarriedMessage): string {
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
      return `Message from ${from}${where} (message ${id}):`;
    case 'context':
      return `Also said by ${from}${where} (message ${id}):`;
    case 'notice':
      return 'Notice from Substrat:';
  }
}

/** Everything that some program takes for the end of a line, which is every control character but the tab. */
const LINE_BREAK = /(\r\n|[^\P{Cc}\t]|[\u2028\u2029])/u;
/** What is not seen, or hardly, and so could stand before or within a forged header. */
const INVISIBLE = /[\s\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const HEADER = /^\\*((late)?replyfrom|messagefrom|alsosaidby|noticefrom|errorfrom|substrat:)/i;

/** What looks like the heading of a section of ours. Deeper ones are a text's own. */
const HEADING = /^\\*#{1,3}([^#]|$)/;

/** A text as a quotation: every line begins with the mark, so that none of them can be taken for a header. */
export function quote(text: string, mark: string): string {
  const parts = text.split(LINE_BREAK);
  return parts.map((part, i) => (i % 2 === 0 ? `${mark}${part}` : part)).join('');
}

/** A line of a body that looks like a header, or like an escaped one, gets a backslash. */
export function escapeHeaders(text: string): string {
  return escapeLines(text, HEADER);
}

/** In a section of the system prompt neither headers nor headings can be forged. */
export function escapeSection(text: string): string {
  return escapeLines(escapeLines(text, HEADER), HEADING);
}

function escapeLines(text: string, forged: RegExp): string {
  return text
    .split(LINE_BREAK)
    .map((line) => (forged.test(line.normalize('NFKD').replace(INVISIBLE, '')) ? `\\${line}` : line))
    .join('');
}
