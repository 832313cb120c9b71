import type { Router } from './router.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** No route matches it, so that only what applies to every path is counted. */
const NOWHERE = '/-/-/-/-/-/-/-/-';

/** The methods that a path accepts; empty if the path does not exist. */
export function allowedMethods({ router }: Pick<Router, 'router'>, path: string): string[] {
  const count = (method: string, at: string) => router.match(method, at)[0].length;
  const found = METHODS.filter((method) => count(method, path) > count(method, NOWHERE));
  return found.includes('GET') ? ['HEAD', ...found] : found;
}
