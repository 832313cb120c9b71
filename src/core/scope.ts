/** The tools that an agent may use, by name; null for every tool. */
export type Scope = readonly string[] | null;

/** Tools that steer other agents: only in a scope that names them, or their group. */
const CONTROL_TOOLS: readonly string[] = [
  ...['gate', 'ungate', 'permit_turn', 'poke', 'terminate_agent', 'set_agent_metadata'],
  ...['subscribe', 'unsubscribe'],
];
const CONTROL = 'control';

export function isInScope(scope: Scope, tool: string): boolean {
  return scope === null ? !CONTROL_TOOLS.includes(tool) : scope.includes(tool);
}

/** The names, with the group replaced by its tools. */
export function expandScope(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => (name === CONTROL ? CONTROL_TOOLS : [name])))];
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
