import { SubstratError } from './errors.ts';
import { shorten } from './text.ts';

/** A provider, and optionally one of its models. */
export interface ProviderChoice {
  readonly provider: string;
  /** Null: any model, or the provider's own default. */
  readonly model: string | null;
}

/** Reads `codex` or `llm:ollama/qwen3`. Models may contain colons, providers do not. */
export function readChoice(text: string): ProviderChoice {
  const [provider = '', ...rest] = text.split(':');
  const model = rest.join(':');
  if (provider === '' || (rest.length > 0 && model === '')) {
    throw new SubstratError('bad_request', `"${shorten(text)}" is not PROVIDER or PROVIDER:MODEL.`);
  }
  return { provider, model: rest.length > 0 ? model : null };
}

export function showChoice({ provider, model }: ProviderChoice): string {
  return model === null ? provider : `${provider}:${model}`;
}

/** Whether a list allows the choice. An entry without a model allows every model. */
export function allows(list: readonly string[], { provider, model }: ProviderChoice): boolean {
  return list.map(readChoice).some((one) => one.provider === provider && (one.model === null || one.model === model));
}
