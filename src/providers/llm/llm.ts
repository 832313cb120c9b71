import { SubstratError } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { cleanText } from '../../core/text.ts';
import type { Provider, ProviderEvent, Turn } from '../provider.ts';
import { llm as about } from './describe.ts';
import { chooseModel } from './endpoints.ts';
import type { LlmOptions } from './options.ts';

export type { LlmOptions } from './options.ts';

/**
 * An agent that is a model, without a program. The conversation is in the store: a turn that was interrupted continues
 * after its last stored message. Substrat's tools are called in this process, the workspace's in the sandbox.
 */
export function llm(options: LlmOptions): Provider {
  return { about, runTurn: (turn) => runTurn(options, turn) };
}

async function* runTurn(options: LlmOptions, turn: Turn): AsyncGenerator<ProviderEvent> {
  if (turn.signal.aborted) return yield { type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' };
  const limit = AbortSignal.timeout(Math.min(turn.timeoutMs, 2 ** 31 - 1));
  const signal = AbortSignal.any([turn.signal, limit]);
  // Loaded by the first turn, because the libraries are large.
  const [{ converse }, { ModelFailed }] = await Promise.all([import('./converse.ts'), import('./failure.ts')]);
  try {
    const chosen = chooseModel(options, turn.model);
    const session = turn.session ?? newId();
    yield* converse(options, turn, { chosen, session, signal });
  } catch (error) {
    if (turn.signal.aborted) yield { type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' };
    else if (limit.aborted) {
      const message = `The turn was ended at its time limit of ${turn.timeoutMs / 1_000} s.`;
      yield { type: 'error', kind: 'timeout', message };
    } else if (error instanceof ModelFailed) yield error.failed;
    else if (error instanceof SubstratError && error.code === 'bad_request')
      yield { type: 'error', kind: 'invalid_request', message: cleanText(error.message) };
    else throw error;
  }
}
