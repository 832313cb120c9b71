/** The tools that an agent may use, by name; null for every tool. */
export type Scope = readonly string[] | null;

export function isInScope(scope: Scope, tool: string): boolean {
  return scope === null || scope.includes(tool);
}

/** The intersection of both. */
export function narrow(a: Scope, b: Scope): Scope {
  if (a === null) return b;
  if (b === null) return a;
  return a.filter((name) => b.includes(name));
}

export function sameScope(a: Scope, b: Scope): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((name) => b.includes(name));
}
