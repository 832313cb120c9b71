import { knowledgeContext } from '../core/context.ts';
import type { Knowledge } from '../core/knowledge.ts';

/** `context.search`, `get` and `sources` of a script. */
export async function consult(
  knowledge: Knowledge | undefined,
  operation: string,
  [first, second]: readonly unknown[],
): Promise<unknown> {
  const context = knowledgeContext(knowledge);
  if (operation === 'context.search') return context.search(first as never, second as never);
  return operation === 'context.get' ? context.get(first as never) : context.sources();
}
