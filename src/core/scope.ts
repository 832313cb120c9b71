/** A scope is a JSON list of names of tools, or null for every tool. */
export type Scope = string | null;

export function isInScope(scope: Scope, tool: string): boolean {
  return scope === null || namesIn(scope).includes(tool);
}

/** What both scopes have. */
export function narrow(a: Scope, b: Scope): Scope {
  if (a === null || a === b) return b;
  if (b === null) return a;
  const allowed = new Set(namesIn(b));
  return JSON.stringify(namesIn(a).filter((name) => allowed.has(name)));
}

function namesIn(scope: string): string[] {
  return JSON.parse(scope) as string[];
}
