import type { ModelAnswer } from '../core/command.ts';
import type { ProviderEvent } from './provider.ts';
import { type Final, failed } from './verdict.ts';

/** A program that waits longer than this for a limit is ended: Substrat waits without a process. */
const PATIENCE_MS = 20_000;
/** Some programs retry for hours without a word. */
const MOST_REFUSALS = 4;

/** What the proxy saw of a turn. */
export interface AnswerWatch {
  /** Aborts when the program waits in vain. */
  readonly signal: AbortSignal;
  saw(answer: ModelAnswer): void;
  /** The tokens of the turn, for a program that did not report any. */
  usage(): ProviderEvent[];
  /** The end of the turn with what was seen. */
  judge(final: Final): Final;
}

/**
 * Watches the answers of the model's service, as the proxy sees them, for limits and tokens: many programs do not report
 * them, or not when they end.
 */
export function watchAnswers(): AnswerWatch {
  const controller = new AbortController();
  let refusals = 0;
  let waitMs: number | null = null;
  const used = { inputTokens: 0, outputTokens: 0 };
  return {
    signal: controller.signal,
    saw({ status, retryAfterMs, inputTokens, outputTokens }: ModelAnswer): void {
      used.inputTokens += inputTokens;
      used.outputTokens += outputTokens;
      if (status !== 429) {
        if (status < 400) refusals = 0;
        return;
      }
      refusals += 1;
      waitMs = retryAfterMs;
      if (refusals >= MOST_REFUSALS || (waitMs ?? 0) > PATIENCE_MS) controller.abort();
    },
    usage: (): ProviderEvent[] => (used.inputTokens + used.outputTokens > 0 ? [{ type: 'usage', ...used }] : []),
    judge(final: Final): Final {
      if (final.type !== 'error') return final;
      if (controller.signal.aborted && final.kind === 'cancelled') {
        const message =
          "The rate limit of the model's service is reached (HTTP 429), and the program would only have waited for it.";
        return failed(message, { status: 429, retryAfterMs: waitMs });
      }
      const isUntold = final.kind === 'rate_limit' && final.retryAfterMs === undefined;
      return isUntold && waitMs !== null ? { ...final, retryAfterMs: waitMs } : final;
    },
  };
}
