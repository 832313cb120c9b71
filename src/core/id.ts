import { randomUUID } from 'node:crypto';

/** A version 7 UUID. It starts with the time, so records created together are close together in every index. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
