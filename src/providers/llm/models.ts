import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { ChosenModel } from './endpoints.ts';

/** The client of a model. The libraries are loaded by the first turn that needs them. */
export async function createModel({ dialect, baseUrl, apiKey, model }: ChosenModel): Promise<LanguageModelV4> {
  const baseURL = baseUrl.replace(/\/$/, '');
  // Without a key the libraries would look for one in the environment, or refuse to start.
  const settings = { baseURL, apiKey: apiKey ?? 'none', fetch: withoutRedirects };
  switch (dialect) {
    case 'anthropic':
      return (await import('@ai-sdk/anthropic')).createAnthropic(settings)(model);
    case 'responses':
      return (await import('@ai-sdk/openai')).createOpenAI(settings).responses(model);
    case 'chat': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const { apiKey: _, ...rest } = settings;
      return createOpenAICompatible({ ...rest, ...(apiKey !== null && { apiKey }), name: 'chat', includeUsage: true })(
        model,
      );
    }
  }
}

/** Marks the end of what the service should cache. */
export const CACHED: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };

/** Options of every call: nothing is stored at the service, and calls of one conversation share a cache. */
export function callOptions({ dialect }: ChosenModel, session: string): SharedV4ProviderOptions {
  return dialect === 'responses' ? { openai: { store: false, promptCacheKey: session } } : {};
}

/** A redirect would take the key to another host. */
const withoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'error' });
