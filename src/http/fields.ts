import { z } from '@hono/zod-openapi';
import { asLine } from '../core/line.ts';
import { MAX_TEXT } from '../core/text.ts';

export const plain = (text: string): boolean => !text.includes('\0');
/** Like agents' handles, because an agent's own workspace has its name. */
export const NAMED = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,300}$/;
export const NO_NUL = 'must not contain NUL characters';

/** One line without hidden characters; may be empty. */
export const line = (longest: number) => z.string().max(longest, { abort: true }).superRefine(asLine);
export const label = line(500).min(1);
export const path = z.string().min(1).max(4096).refine(plain, NO_NUL);
export const text = z
  .string()
  .max(MAX_TEXT, { abort: true })
  .refine((value) => value.trim() !== '', 'must not be empty')
  .refine(plain, NO_NUL);
export const time = z.string().openapi({ format: 'date-time', example: '2026-01-31T12:00:00.000Z' });
export const instant = z.iso
  .datetime({ offset: true })
  .or(z.iso.date())
  .openapi({ description: 'A time, or a date in UTC.', example: '2026-01-31' });
export const uuid = z.string().openapi({ format: 'uuid' });
