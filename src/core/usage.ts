import type { RunId } from './ids.ts';

/**
 * Who counted. `metered`: the daemon, in the answers of the model's service; an agent cannot forge it. `reported`: the
 * program. `assumed`: nobody, so it is estimated from the texts.
 */
export type UsageGrade = 'metered' | 'reported' | 'assumed';

export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** Per million tokens, in US dollars. */
export interface Prices {
  readonly input: number;
  readonly output: number;
}

/**
 * Where the cost of a provider's turns comes from: its program or service (`reported`), the prices of the configuration,
 * its `assume_price`, or nowhere.
 */
export interface Pricing {
  readonly kind: 'reported' | 'configured' | 'assumed' | 'unknown';
  /** For every model; null if only single models have a price. */
  readonly every: Prices | null;
  readonly models: Readonly<Record<string, Prices>>;
  /** What is used for a model without a price. */
  readonly assumed: Prices | null;
  /** Where and on which day the configured prices were read, if the configuration says so. */
  readonly source: string | null;
  readonly asOf: string | null;
}

/** What one attempt used, as one of them counted it. */
export interface AttemptUsage extends Tokens {
  readonly runId: RunId;
  readonly attempt: number;
  readonly grade: UsageGrade;
}

export interface RunUsage extends Tokens {
  /** The least certain of its attempts; null if nothing was used. */
  readonly grade: UsageGrade | null;
}

/** From the most to the least certain. */
export const USAGE_GRADES = ['metered', 'reported', 'assumed'] as const satisfies readonly UsageGrade[];

/**
 * What a run used. Of one attempt, the larger number counts, metered or reported: a program can report too little, and the
 * proxy does not see every request.
 */
export function usageOf(rows: readonly AttemptUsage[]): RunUsage {
  const attempts = [...Map.groupBy(rows, ({ attempt }) => attempt).values()];
  const sum = (field: keyof Tokens) =>
    attempts.reduce((total, counted) => total + Math.max(...counted.map((one) => one[field])), 0);
  const certainty = attempts.map((counted) => Math.min(...counted.map(({ grade }) => USAGE_GRADES.indexOf(grade))));
  return {
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    costUsd: sum('costUsd'),
    grade: USAGE_GRADES[Math.max(...certainty)] ?? null,
  };
}

/**
 * What each step of an attempt used: by how much the sums grew from its predecessor. What was counted after the last
 * record belongs to the last step. Null for all steps if everything was counted at the end, because then nobody knows.
 */
export function usageOfSteps(sums: readonly (Tokens | null)[], total: Tokens | null): (Tokens | null)[] {
  if (sums.every((sum) => sum === null)) return sums.map(() => null);
  let before: Tokens = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  return sums.map((sum, i) => {
    const until = (i === sums.length - 1 && total) || sum || before;
    const grown = (field: keyof Tokens) => Math.max(0, until[field] - before[field]);
    const used = {
      inputTokens: grown('inputTokens'),
      outputTokens: grown('outputTokens'),
      costUsd: grown('costUsd'),
    };
    before = until;
    return used;
  });
}
