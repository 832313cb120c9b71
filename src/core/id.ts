import { randomUUID } from 'node:crypto';

/** A UUID of version 7, which begins with the time: what is made together lies together in every index. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
