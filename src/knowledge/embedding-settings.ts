/** `[embedding]` of the configuration. */
export interface EmbeddingSettings {
  readonly provider: 'disabled' | 'local' | 'ollama' | 'openai';
  readonly model: string | null;
  readonly url: string | null;
  readonly apiKey: string | null;
  readonly dimension: number | null;
  readonly batch: number;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly path: string | null;
}
