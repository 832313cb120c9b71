import { shorten } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Personas } from './personas.ts';

/** Those tools that a persona names, by their exact names. Throws `not_found` for an unknown persona. */
export function toolsOf<Tool extends { readonly name: string }>(
  personas: Personas,
  agent: string,
  tools: readonly Tool[],
): readonly Tool[] {
  const found = personas.find(agent);
  if (found === null) throw new SubstratError('not_found', `There is no agent "${shorten(agent)}".`);
  return tools.filter(({ name }) => found.tools.includes(name));
}
