import { isUtf8 } from 'node:buffer';
import { SubstratError } from '../../core/errors.ts';

/** How many bytes are checked to detect a binary file. */
const LOOK = 8192;

/** Decodes bytes and normalizes line ends: UTF-8, UTF-16 if there is a byte order mark, otherwise Windows-1252. */
export function decodeText(bytes: Buffer): string {
  const text = decode(bytes).replace(/^\ufeff/, '');
  // Most texts have none, and searching for a character is much faster than for a pattern.
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return lines.replaceAll('\0', '\ufffd');
}

function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes.subarray(0, LOOK).includes(0)) throw new SubstratError('unsupported', 'not a text file');
  return isUtf8(bytes) ? bytes.toString('utf8') : new TextDecoder('windows-1252').decode(bytes);
}
