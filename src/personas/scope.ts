import type { Personas } from './personas.ts';
import { unknownPersona } from './unknown.ts';

/** The tools that a persona names, matched exactly. Throws `not_found` for an unknown persona. */
export function toolsOf<Tool extends { readonly name: string }>(
  personas: Personas,
  agent: string,
  tools: readonly Tool[],
): readonly Tool[] {
  const found = personas.find(agent);
  if (found === null) throw unknownPersona(agent, personas.list());
  return tools.filter(({ name }) => found.tools.includes(name));
}
