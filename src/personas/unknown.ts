import { nearest } from '../config/nearest.ts';
import { SubstratError } from '../core/errors.ts';
import type { PersonaInfo } from '../core/persona.ts';
import { shorten } from '../core/text.ts';

export function unknownPersona(name: string, known: readonly PersonaInfo[]): SubstratError {
  const names = known.map((persona) => persona.name);
  const meant = nearest(shorten(name), names);
  const hint = meant === null ? '.' : `; did you mean "${meant}"?`;
  return new SubstratError('not_found', `There is no agent "${shorten(name)}"${hint}`);
}
