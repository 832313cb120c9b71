import type { Variables } from '../environment.ts';
import type { ModelSettings } from './endpoints.ts';

export interface LlmOptions extends ModelSettings {
  /** The daemon's environment; the workspace's tools get its harmless part. */
  readonly env: Variables;
  readonly maxTurns: number;
  readonly maxRetries: number;
  readonly maxOutputTokens: number;
  readonly contextTokens: number;
  readonly idleMs: number;
  readonly workspaceTools: boolean;
  readonly images: boolean;
}
