import { type Agent, USER_ID } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import {
  amountText,
  type Budget,
  type BudgetUnit,
  budgetText,
  type Charge,
  limitOf,
  periodNumberOf,
  WARN_AT,
} from '../core/budget.ts';
import type { ModelRequest } from '../core/command.ts';
import type { Run } from '../core/run.ts';
import { estimateTokens } from '../core/tokens.ts';
import type { Prices, RunUsage } from '../core/usage.ts';
import type { Tx } from './tx.ts';

/** What budgets must know of providers. */
export interface BudgetRules {
  readonly prices: (provider: string, model: string | null) => Prices | null;
  /** Whether it reports what a turn costs. */
  readonly reportsCost: (provider: string) => boolean;
  /** False for agents that are a person's own program: no default limits them. */
  readonly usesModel: (provider: string) => boolean;
  /** Of a person, by handle. */
  readonly timeZone: (handle: string) => string;
}

/** Why a turn cannot start or go on. */
export interface Exhausted {
  readonly budgetId: string;
  readonly text: string;
  /** `used`: waits until something is released, or asks. `stopped`: the owner decided so. `price`: unknown. */
  readonly why: 'used' | 'stopped' | 'price';
}

/** What a turn reserves if the agent has no earlier turn to compare with, and what is added when that is used. */
const TURN = { tokens: 50_000, usd: 0.5, runs: 1, seconds: 300 } as const satisfies Record<BudgetUnit, number>;
/** What the model writes in one step, at least. */
const STEP_OUTPUT = 1_000;
const STEP_USD = 0.01;
const HISTORY = 5;

interface Starting {
  readonly run: Run;
  readonly agent: Agent;
  readonly payerId: string | null;
  readonly prompt: string;
}

/**
 * Reserves an estimate of what the turn will use on every budget that it draws from, in the transaction that claims it, or
 * returns why it cannot start. If less than the estimate is left, the rest is reserved, as long as one step fits.
 */
export async function reserve(
  tx: Tx,
  rules: BudgetRules,
  starting: Starting,
  now: number,
): Promise<Exhausted | { readonly budgeted: boolean }> {
  const { run, agent, payerId } = starting;
  const budgets = await budgetsOf(tx, rules, agent, payerId, now);
  if (budgets.length === 0) return { budgeted: false };
  const charges: Charge[] = [];
  const history = await tx.runs.listCompleted({ agentId: agent.id, after: 0, limit: HISTORY });
  const earlier = await tx.budgets.listCharges({ runId: run.id });
  for (const budget of budgets) {
    const periodNumber = periodNumberOf(budget, now);
    const isCounted = earlier.some(({ budgetId }) => budgetId === budget.id);
    // A run counts once, however many attempts it takes.
    if (budget.unit === 'runs' && isCounted) continue;
    const text = async (rest: string) => `${await sentenceOf(tx, budget, periodNumber)} ${rest}`;
    if (budget.stoppedIn === periodNumber) {
      return { budgetId: budget.id, why: 'stopped', text: await text('is used up, and you decided to stop.') };
    }
    if (budget.unit === 'usd' && !isPriced(rules, agent)) {
      const rest = `cannot be kept, because the price of ${agent.provider} is not known. Set \`[providers.${agent.provider}] prices\` (0 if it costs nothing), or \`assume_price\`.`;
      return { budgetId: budget.id, why: 'price', text: await text(rest) };
    }
    const { step, turn } = estimateOf(rules, budget.unit, starting, history);
    const { held, used } = await tx.budgets.getDrawn({ budgetId: budget.id, periodNumber });
    const left = limitOf(budget, periodNumber) - held;
    if (left < step) {
      const reserved = held > used ? ` and ${amountText(budget.unit, held - used)} are reserved` : '';
      return { budgetId: budget.id, why: 'used', text: await text(`has ${leftText(budget, left)} left${reserved}.`) };
    }
    const isRun = budget.unit === 'runs';
    charges.push({
      ...{ budgetId: budget.id, runId: run.id, attempt: run.attempt, periodNumber, open: !isRun, createdAt: now },
      ...(isRun
        ? { reserved: 0, used: 1, grade: 'metered' }
        : { reserved: Math.min(turn, left), used: 0, grade: null }),
    });
  }
  for (const charge of charges) await tx.budgets.setCharge(charge);
  return { budgeted: charges.some(({ open }) => open) };
}

/**
 * Writes what an attempt has used so far to its charges, and reserves more if it has used what it reserved. Returns the
 * budget that is used up: then the turn must stop. Needs no fence: what is spent is spent. `planned` is what it reserves by budget,
 * without its model requests in progress.
 */
export async function settleSoFar(
  tx: Tx,
  tell: Tell,
  attempt: Attempt & { readonly admitted: Admitted },
  usage: RunUsage,
  now: number,
): Promise<{ readonly exhausted: Exhausted | null; readonly planned: ReadonlyMap<string, number> }> {
  let exhausted: Exhausted | null = null;
  const planned = new Map<string, number>();
  const { held: asked } = attempt.admitted;
  for (const charge of await openCharges(tx, attempt)) {
    const budget = (await tx.budgets.getBudget({ id: charge.budgetId })) as Budget;
    const used = Math.max(charge.used, usedOf(budget.unit, usage, charge, now));
    const { held } = await tx.budgets.getDrawn(charge);
    const others = held - Math.max(charge.reserved, charge.used);
    const room = limitOf(budget, charge.periodNumber) - others - used;
    const before = attempt.admitted.planned.get(budget.id) ?? charge.reserved;
    const wanted = used >= before ? used + TURN[budget.unit] : before;
    planned.set(budget.id, wanted);
    const reserved = Math.max(used + heldOf(asked, budget.unit), Math.min(wanted, used + room));
    await tx.budgets.setCharge({ ...charge, used, reserved, grade: usage.grade });
    await warn(tx, tell, attempt, { budget, charge, added: used - charge.used }, now);
    if (room > 0 || exhausted) continue;
    const text = `${await sentenceOf(tx, budget, charge.periodNumber)} has nothing left.`;
    exhausted = { budgetId: budget.id, why: 'used', text };
  }
  return { exhausted, planned };
}

/**
 * The attempt has ended: only what it used stays charged. Without a final number, everything that it had reserved counts
 * as used. Returns the budgets that have more left now.
 */
export async function settleFinally(
  tx: Tx,
  tell: Tell,
  attempt: Attempt,
  { usage, isFinal }: { readonly usage: RunUsage; readonly isFinal: boolean },
  now: number,
): Promise<string[]> {
  const charges = (await tx.budgets.listCharges(attempt)).filter((one) => one.attempt === attempt.number);
  const released: string[] = [];
  for (const charge of charges) {
    const budget = (await tx.budgets.getBudget({ id: charge.budgetId })) as Budget;
    if (budget.unit === 'runs') continue;
    const isKnown = isFinal || budget.unit === 'seconds';
    // What was cut off has been charged with all that it had reserved, until a final number comes.
    if (!charge.open && (!isKnown || charge.grade !== 'assumed' || budget.unit === 'seconds')) continue;
    const counted = usedOf(budget.unit, usage, charge, now);
    const used = isKnown ? counted : Math.max(counted, charge.used, charge.reserved);
    const grade = budget.unit === 'seconds' ? 'metered' : isKnown ? usage.grade : 'assumed';
    await tx.budgets.setCharge({ ...charge, used, reserved: 0, grade, open: false });
    await warn(tx, tell, attempt, { budget, charge, added: used - charge.used }, now);
    released.push(budget.id);
  }
  return released;
}

/** What the model requests in progress of an attempt can use together, and what it reserves without them, by budget. */
export interface Admitted {
  held: Worst;
  readonly planned: Map<string, number>;
}

export interface Worst {
  readonly tokens: number;
  readonly usd: number;
}

function heldOf({ tokens, usd }: Worst, unit: BudgetUnit): number {
  return unit === 'tokens' ? tokens : unit === 'usd' ? usd : 0;
}

export interface Granted {
  readonly outputTokens: number;
  readonly worst: Worst;
  /** What the attempt reserves without its requests, by budget. */
  readonly planned: ReadonlyMap<string, number>;
}

/**
 * Reserves what a model request can use at most on every budget of the attempt, or returns the one that it does not fit.
 * If less is left than the model may write, it may write less.
 */
export async function admit(
  tx: Tx,
  attempt: Attempt & { readonly admitted: Admitted },
  request: ModelRequest,
  { price, usage }: { readonly price: Prices | null; readonly usage: RunUsage },
  now: number,
): Promise<Granted | Exhausted> {
  const costOf = (output: number): Worst => ({
    tokens: request.inputTokens + output,
    usd: price ? (request.inputTokens * price.input + output * price.output) / 1_000_000 : 0,
  });
  const { held: asked } = attempt.admitted;
  const charges: { readonly charge: Charge; readonly used: number; readonly unit: BudgetUnit }[] = [];
  let most = request.outputTokens;
  for (const charge of await openCharges(tx, attempt)) {
    const budget = (await tx.budgets.getBudget({ id: charge.budgetId })) as Budget;
    const { unit } = budget;
    if (unit !== 'tokens' && unit !== 'usd') continue;
    const used = Math.max(charge.used, usedOf(unit, usage, charge, now));
    const others = (await tx.budgets.getDrawn(charge)).held - Math.max(charge.reserved, charge.used);
    const left = limitOf(budget, charge.periodNumber) - others - used - heldOf(asked, unit);
    const perToken = costOf(1)[unit] - costOf(0)[unit];
    const room = left - costOf(0)[unit];
    most = Math.min(most, perToken > 0 ? Math.floor(room / perToken) : room >= 0 ? most : -1);
    if (most < request.leastOutput) {
      const text = `${await sentenceOf(tx, budget, charge.periodNumber)} has ${leftText(budget, left)} left. The next request to the model needs ${amountText(unit, costOf(request.leastOutput)[unit])} or more.`;
      return { budgetId: budget.id, why: 'used', text };
    }
    charges.push({ charge, used, unit });
  }
  const worst = costOf(most);
  const planned = new Map<string, number>();
  for (const { charge, used, unit } of charges) {
    const wanted = used + heldOf(asked, unit) + worst[unit as 'tokens' | 'usd'];
    planned.set(charge.budgetId, attempt.admitted.planned.get(charge.budgetId) ?? charge.reserved);
    if (wanted > charge.reserved) await tx.budgets.setCharge({ ...charge, used, reserved: wanted });
  }
  return { outputTokens: most, worst, planned };
}

export interface Tell {
  tellPerson(tx: Tx, agent: Agent, text: string, now: number): Promise<void>;
}

/** Everything that a turn of the agent draws from, the highest in the tree first. */
export async function budgetsOf(
  tx: Tx,
  rules: Pick<BudgetRules, 'usesModel'>,
  agent: Agent,
  payerId: string | null,
  now: number,
): Promise<Budget[]> {
  const all = await tx.budgets.listBudgetsOf({ treeId: agent.treeId, personId: payerId ?? USER_ID, now });
  if (all.length === 0) return [];
  const above: string[] = [agent.id];
  const isNear = (id: string) => id === agent.id || id === agent.treeId;
  if (all.every(({ subjectId }) => isNear(subjectId))) above.push(agent.treeId);
  else
    for (let next: Agent | null = agent; next?.parentId; next = await tx.agents.getAgent({ id: next.parentId }))
      above.push(next.parentId);
  const isModel = rules.usesModel(agent.provider);
  const draws = ({ scope, subjectId, origin }: Budget) =>
    (isModel || origin !== 'default') &&
    (scope === 'person' || (scope === 'agent' ? subjectId === agent.id : above.includes(subjectId)));
  const height = ({ scope, subjectId }: Budget) => (scope === 'person' ? above.length : above.indexOf(subjectId));
  return all.filter(draws).sort((a, b) => height(b) - height(a));
}

/** As people read it, at the beginning of a sentence. */
export async function sentenceOf(tx: Tx, budget: Budget, periodNumber: number): Promise<string> {
  const handle = (await tx.participants.getParticipantById({ id: budget.subjectId }))?.handle ?? budget.subjectId;
  const text = budgetText(budget, handle, periodNumber);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

async function openCharges(tx: Tx, attempt: Attempt): Promise<Charge[]> {
  const charges = await tx.budgets.listCharges(attempt);
  return charges.filter(({ attempt: number, open }) => open && number === attempt.number);
}

function usedOf(unit: BudgetUnit, usage: RunUsage, charge: Charge, now: number): number {
  if (unit === 'tokens') return usage.inputTokens + usage.outputTokens;
  if (unit === 'usd') return usage.costUsd;
  return unit === 'seconds' ? Math.max(0, (now - charge.createdAt) / 1_000) : charge.used;
}

/** Whether what its turns cost can be known. */
export function isPriced(rules: BudgetRules, { provider, model }: Agent): boolean {
  return rules.reportsCost(provider) || rules.prices(provider, model) !== null;
}

/** What the first step needs at least, and what the turn will probably use. */
function estimateOf(
  { prices }: BudgetRules,
  unit: BudgetUnit,
  { agent, prompt }: Starting,
  history: readonly Run[],
): { readonly step: number; readonly turn: number } {
  const most = (of: (run: Run) => number) => Math.max(0, ...history.map(of));
  const input = estimateTokens(prompt);
  if (unit === 'tokens') {
    const step = input + STEP_OUTPUT;
    return { step, turn: Math.max(step, most((run) => run.inputTokens + run.outputTokens) || TURN.tokens) };
  }
  if (unit === 'usd') {
    const price = prices(agent.provider, agent.model);
    const step = price ? (input * price.input + STEP_OUTPUT * price.output) / 1_000_000 : STEP_USD;
    const first = price ? (TURN.tokens * price.input) / 1_000_000 : TURN.usd;
    return { step, turn: Math.max(step, most(({ costUsd }) => costUsd) || first) };
  }
  return { step: 1, turn: TURN[unit] };
}

/** Tells the owner once in each period that most of a budget is used. */
async function warn(
  tx: Tx,
  { tellPerson }: Tell,
  { agentId }: Attempt,
  { budget, charge, added }: { readonly budget: Budget; readonly charge: Charge; readonly added: number },
  now: number,
): Promise<void> {
  const { periodNumber } = charge;
  if (added <= 0 || budget.warnedIn === periodNumber) return;
  const { used } = await tx.budgets.getDrawn({ budgetId: budget.id, periodNumber });
  const limit = limitOf(budget, periodNumber);
  if (used < limit * WARN_AT) return;
  await tx.budgets.setBudget({ ...budget, warnedIn: periodNumber });
  const agent = await tx.agents.getAgent({ id: agentId });
  const percent = Math.floor((used / limit) * 100);
  const text = `${percent} % of ${(await sentenceOf(tx, budget, periodNumber)).replace(/^T/, 't')} is used. When all of it is used, turns stop and you are asked.`;
  if (agent) await tellPerson(tx, agent, text, now);
}

function leftText({ unit }: Budget, left: number): string {
  return left <= 0 ? 'nothing' : `only ${amountText(unit, left)}`;
}
