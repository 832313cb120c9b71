import { hash } from 'node:crypto';
import type { MessageId } from './ids.ts';
import { lineProblem } from './line.ts';

/** A file that a message carries. Its bytes are stored once, by their hash. */
export interface Attachment {
  readonly messageId: MessageId;
  /** From 0, in order. */
  readonly position: number;
  /** One component of a path. */
  readonly name: string;
  readonly hash: string;
  /** That of an image, recognized by its bytes, or `application/octet-stream`. */
  readonly mediaType: string;
  readonly size: number;
}

export interface NewAttachment {
  readonly name: string;
  readonly data: Uint8Array;
}

export const MAX_ATTACHMENTS = 10;
export const MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024;
/** In bytes: file systems allow 255. */
const MAX_NAME = 200;

/** Where an agent finds it, below its workspace. */
export function attachmentPath({ hash: digest, name }: Pick<Attachment, 'hash' | 'name'>): string {
  return `.substrat/attachments/${digest.slice(0, 16)}/${name}`;
}

export function hashOf(data: Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** Why a text cannot be the name of a file; null if it can. */
export function nameProblem(name: string): string | null {
  if (Buffer.byteLength(name) > MAX_NAME) return `must have at most ${MAX_NAME} bytes`;
  if (name.trim() === '' || name === '.' || name === '..' || /[/\\]/.test(name))
    return 'must be the name of a file, without a path';
  return lineProblem(name);
}

/** The first bytes, in hexadecimal. */
const signatures: readonly [string, RegExp][] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^474946383[79]61/],
  ['image/webp', /^52494646.{8}57454250/],
];

/** Only images are recognized, by their bytes: the sender's description of a file is not trusted. */
export function mediaTypeOf(data: Uint8Array): string {
  const head = Buffer.from(data.buffer, data.byteOffset, Math.min(16, data.byteLength)).toString('hex');
  return signatures.find(([, signature]) => signature.test(head))?.[0] ?? 'application/octet-stream';
}

export function isImage({ mediaType }: Pick<Attachment, 'mediaType'>): boolean {
  return mediaType.startsWith('image/');
}
