import { isAbsolute, relative, sep } from 'node:path';

/** Whether `inner` is `outer` or below it. Both are absolute. */
export function isInside(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

export function depthOf(path: string): number {
  return path.split(sep).filter(Boolean).length;
}
