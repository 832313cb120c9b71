import { SubstratError } from './errors.ts';
import type { AgentId, BudgetId, MessageId, ParticipantId, RunId } from './ids.ts';
import { dayEndIn, dayIn } from './local-times.ts';
import type { UsageGrade } from './usage.ts';

export const BUDGET_SCOPES = ['agent', 'subtree', 'person'] as const;
/** Whose turns count: the agent's, also those of all below it, or those that a person's messages started. */
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

export const BUDGET_UNITS = ['tokens', 'usd', 'runs', 'seconds'] as const;
export type BudgetUnit = (typeof BUDGET_UNITS)[number];

export const BUDGET_PERIODS = ['day', 'total', 'first_day'] as const;
/** A day is a day of the budget's time zone. `first_day` is the 24 hours after a tree was created. */
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

export const BUDGET_ORIGINS = ['person', 'config', 'default'] as const;

/** A limit, with what the owner decided about it. What is left of it is computed from its charges. */
export interface Budget {
  readonly id: BudgetId;
  readonly scope: BudgetScope;
  readonly subjectId: ParticipantId;
  /** The tree of its agent; null for a person's. */
  readonly treeId: AgentId | null;
  readonly unit: BudgetUnit;
  readonly period: BudgetPeriod;
  /** Of its person; of the owner, if it is an agent's. */
  readonly timeZone: string;
  readonly amount: number;
  /** It no longer limits anything from then on. */
  readonly expiresAt: number | null;
  readonly origin: (typeof BUDGET_ORIGINS)[number];
  /** The owner added this, for the period `raisedIn`. */
  readonly raised: number;
  readonly raisedIn: number | null;
  /** The periods in which the owner was warned, was asked, and decided to stop. */
  readonly warnedIn: number | null;
  readonly askedIn: number | null;
  readonly stoppedIn: number | null;
  /** The question of the period `askedIn`. */
  readonly questionId: MessageId | null;
  readonly createdAt: number;
}

/** What an attempt draws from a budget: a reservation while it is open, then what it used. */
export interface Charge {
  readonly budgetId: BudgetId;
  readonly runId: RunId;
  readonly attempt: number;
  /** The period in which it was made: a day, or 0. */
  readonly periodNumber: number;
  readonly reserved: number;
  readonly used: number;
  readonly grade: UsageGrade | null;
  readonly open: boolean;
  readonly createdAt: number;
}

/** The sums of a budget's charges in a period. */
export interface Drawn {
  readonly used: number;
  /** What was used, and for open charges what is reserved if that is more. */
  readonly held: number;
  /** The number of open charges. */
  readonly holders: number;
}

/** What a person or the configuration wants to limit. */
export type BudgetWish = Pick<Budget, 'scope' | 'subjectId' | 'unit' | 'period' | 'amount' | 'origin'>;

/** A budget with what is used of it in the current period. */
export interface BudgetView extends Budget, Pick<Drawn, 'used'> {
  /** Of its agent or person. */
  readonly handle: string;
  /** The limit of the period, with what the owner added. */
  readonly limit: number;
  readonly reserved: number;
  readonly left: number;
  /** The number of runs that wait for it. */
  readonly waiting: number;
  /** When a new day begins; null if it is not per day. */
  readonly renewsAt: number | null;
}

/** The person is warned when this part of a limit is used. */
export const WARN_AT = 0.8;

export function periodNumberOf({ period, timeZone }: Pick<Budget, 'period' | 'timeZone'>, now: number): number {
  return period === 'day' ? dayIn(timeZone, now) : 0;
}

/** When its period ends; null: never. */
export function periodEndOf(
  { period, timeZone, expiresAt }: Pick<Budget, 'period' | 'timeZone' | 'expiresAt'>,
  now: number,
): number | null {
  return period === 'day' ? dayEndIn(timeZone, now) : expiresAt;
}

/** The limit in a period, with what the owner added. */
export function limitOf({ amount, raised, raisedIn }: Budget, periodNumber: number): number {
  return amount + (raisedIn === periodNumber ? raised : 0);
}

const UNIT_WORDS: Readonly<Record<BudgetUnit, (amount: number) => string>> = {
  tokens: (amount) => `${grouped(amount)} tokens`,
  usd: (amount) => `$${amount.toFixed(2)}`,
  runs: (amount) => `${grouped(amount)} ${amount === 1 ? 'run' : 'runs'}`,
  seconds: (amount) => (amount >= 120 ? `${grouped(Math.round(amount / 60))} minutes` : `${grouped(amount)} seconds`),
};

export function amountText(unit: BudgetUnit, amount: number): string {
  return UNIT_WORDS[unit](unit === 'usd' ? amount : Math.round(amount));
}

/** As people read it, such as "the budget of lead and its descendants: 20,000 tokens per day". */
export function budgetText(budget: Budget, handle: string, periodNumber: number): string {
  const whose = { agent: handle, subtree: `${handle} and its descendants`, person: `the work of ${handle}` };
  const when = { day: ' per day', total: ' in total', first_day: ' on its first day' };
  const { scope, unit, period } = budget;
  return `the budget of ${whose[scope]}: ${amountText(unit, limitOf(budget, periodNumber))}${when[period]}`;
}

/** What the owner answers when a budget is used up. */
export interface BudgetAnswer {
  /** Null: as much again as the limit. */
  readonly raise: { readonly by: number | null } | null;
  readonly stop: boolean;
  readonly model: string | null;
}

const ANSWER_RULE =
  'Answer "raise" (as much again), "raise AMOUNT", "stop", "model NAME", or "model NAME, raise AMOUNT".';

/** Reads "raise", "raise 500000", "stop", "model NAME", or several of them separated by commas. */
export function readBudgetAnswer(text: string): BudgetAnswer {
  let answer: BudgetAnswer = { raise: null, stop: false, model: null };
  for (const part of text.split(/,\s+|\s+and\s+/)) {
    const words = part.trim().replace(/\.$/, '');
    const raise = /^raise(?:\s+(?:by\s+)?\$?([\d_,]*\.?\d+))?$/i.exec(words);
    const model = /^(?:model|cheaper(?: model)?)\s+(\S.*)$/i.exec(words);
    if (raise) answer = { ...answer, raise: { by: raise[1] === undefined ? null : numberOf(raise[1]) } };
    else if (/^stop$/i.test(words)) answer = { ...answer, stop: true };
    else if (model?.[1]) answer = { ...answer, model: model[1] };
    else throw new SubstratError('bad_request', `"${words.slice(0, 80)}" cannot be understood. ${ANSWER_RULE}`);
  }
  if (answer.stop && (answer.raise || answer.model !== null)) {
    throw new SubstratError('bad_request', `"stop" cannot be combined with anything. ${ANSWER_RULE}`);
  }
  return answer;
}

function numberOf(text: string): number {
  const value = Number(text.replaceAll(/[_,]/g, ''));
  if (Number.isFinite(value) && value > 0) return value;
  throw new SubstratError('bad_request', `"${text}" is not an amount. ${ANSWER_RULE}`);
}

function grouped(amount: number): string {
  return amount.toLocaleString('en-US', { maximumFractionDigits: 0 });
}
