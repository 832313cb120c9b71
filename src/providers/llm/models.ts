import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { ChosenModel } from './endpoints.ts';
import { EndlessAnswer } from './failure.ts';

/** The client of a model. The libraries are loaded by the first turn that needs them. */
export async function createModel({ dialect, baseUrl, apiKey, model }: ChosenModel): Promise<LanguageModelV4> {
  const baseURL = baseUrl.replace(/\/$/, '');
  // Without a key the libraries would look for one in the environment, or refuse to start.
  const settings = { baseURL, apiKey: apiKey ?? 'none', fetch: boundedFetch };
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

/** Of one response. The libraries hold a line, an error and an answer in memory, however long they are. */
const MOST_BYTES = 32 * 1024 * 1024;

/** A redirect would take the key to another host. */
const boundedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' });
  if (!response.body) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= MOST_BYTES) controller.enqueue(chunk);
      else controller.error(new EndlessAnswer(`it answered with more than ${MOST_BYTES} bytes`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
};
