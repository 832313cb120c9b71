import type { Attempt } from '../core/attempt.ts';
import { type RunUsage, type Tokens, USAGE_GRADES, type UsageGrade, usageOf } from '../core/usage.ts';
import type { Tx } from './tx.ts';

/**
 * Counts what an attempt uses. The store gets the sums, so that writing them again changes nothing, and without a
 * fence: what was spent counts, also if the run was cancelled or taken over meanwhile.
 */
export class UsageCount {
  readonly #counted = new Map<UsageGrade, Tokens>();
  #changes = 0;
  #stored = 0;

  add(grade: UsageGrade, { inputTokens, outputTokens, costUsd }: Tokens): void {
    const before = this.#counted.get(grade);
    this.#counted.set(grade, {
      inputTokens: summed(before?.inputTokens ?? 0, Math.ceil(positive(inputTokens))),
      outputTokens: summed(before?.outputTokens ?? 0, Math.ceil(positive(outputTokens))),
      costUsd: summed(before?.costUsd ?? 0, positive(costUsd)),
    });
    this.#changes += 1;
  }

  of(grade: UsageGrade): Tokens | undefined {
    return this.#counted.get(grade);
  }

  /** The larger of what was counted. */
  sum(): RunUsage {
    return usageOf([...this.#counted].map(([grade, tokens]) => ({ runId: '', attempt: 0, grade, ...tokens })));
  }

  get isEmpty(): boolean {
    return this.#counted.size === 0;
  }

  get isStored(): boolean {
    return this.#stored === this.#changes;
  }

  /** Writes the sums. Returns what to call when they are committed. */
  async store(tx: Tx, { runId, number: attempt }: Attempt): Promise<() => void> {
    const changes = this.#changes;
    for (const grade of USAGE_GRADES) {
      const counted = this.#counted.get(grade);
      if (counted) await tx.runs.setUsage({ runId, attempt, grade, ...counted });
    }
    return () => {
      this.#stored = changes;
    };
  }
}

/** More than any turn uses; the sums of many such turns still fit into the columns of both engines. */
const MOST = 1e12;

function summed(before: number, added: number): number {
  return Math.min(MOST, before + added);
}

/** A program may report anything. */
function positive(count: number): number {
  return Number.isFinite(count) && count > 0 ? count : 0;
}
