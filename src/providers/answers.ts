import type { ModelAnswer } from '../core/command.ts';
import { type Final, failed } from './verdict.ts';

/** A program that waits longer than this for a limit is ended: Substrat waits without a process. */
const PATIENCE_MS = 20_000;
/** Programs round the times that a service names. */
const SLACK_MS = 60_000;
/** Some programs retry for hours without reporting it. */
const MOST_REFUSALS = 4;

/** What the proxy saw of a turn. */
export interface AnswerWatch {
  /** Aborts when the program waits in vain. */
  readonly signal: AbortSignal;
  saw(answer: ModelAnswer): void;
  /** The end of the turn with what was seen. */
  judge(final: Final): Final;
}

/**
 * Watches the answers of the model's service, as the proxy sees them, for limits: many programs do not report them, or
 * not when they end.
 */
export function watchAnswers(): AnswerWatch {
  const controller = new AbortController();
  let refusals = 0;
  let waitMs: number | null = null;
  return {
    signal: controller.signal,
    saw({ status, retryAfterMs }: ModelAnswer): void {
      if (status !== 429) {
        if (status < 400) refusals = 0;
        return;
      }
      refusals += 1;
      waitMs = retryAfterMs;
      if (refusals >= MOST_REFUSALS || (waitMs ?? 0) > PATIENCE_MS) controller.abort();
    },
    judge(final: Final): Final {
      if (final.type !== 'error') return final;
      if (controller.signal.aborted && final.kind === 'cancelled') {
        const message =
          "The rate limit of the model's service is reached (HTTP 429), and the program would only have waited for it.";
        return { ...failed(message, { status: 429, retryAfterMs: waitMs }), metered: true };
      }
      if (final.kind !== 'rate_limit' || waitMs === null) return final;
      const { retryAfterMs = waitMs } = final;
      // A longer time than the service asked for is the program's word.
      return retryAfterMs > waitMs + SLACK_MS ? final : { ...final, retryAfterMs, metered: true };
    },
  };
}
