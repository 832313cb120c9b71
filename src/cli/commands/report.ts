import { Command } from 'commander';
import { createClient, type Provider, type Report } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { ago, localTime } from '../../command-line/time.ts';
import { SubstratError } from '../../core/errors.ts';
import { evidenceText } from '../../core/evidence.ts';
import { shortId } from '../../core/short-id.ts';
import { counted, shorten } from '../../core/text.ts';
import { describePricing } from '../describe-pricing.ts';
import { describeQuestion } from '../describe-question.ts';
import { describeBudget } from './budget.ts';

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export function reportCommand(context: Context): Command {
  return new Command('report')
    .description(
      'Show what ran, what was asked and answered, what it cost against its budget, what is proven, and what waits for you.',
    )
    .option('--since <duration>', 'such as 30m, 8h or 2d', '8h')
    .addHelpText('after', '\nExample:\n  substrat report --since 12h')
    .action(async (_: unknown, command: Command) => {
      const { json, since } = command.optsWithGlobals<GlobalOptions & { since: string }>();
      const from = new Date(Date.now() - readSpan(since)).toISOString();
      const client = createClient({ home: context.home() });
      const report = await client.getReport({ since: from });
      if (json) return context.print(JSON.stringify(report));
      const { items } = report.total.costUsd > 0 ? await client.listProviders() : { items: [] };
      for (const line of describeReport(report, items)) context.print(line);
    });
}

function describeReport(
  { since, total, agents, budgets, evidence, failures, questions, waiting }: Report,
  providers: readonly Provider[],
): string[] {
  const priced = providers.filter(({ pricing: { kind } }) => kind === 'configured' || kind === 'assumed');
  const settled = questions.filter(({ outcome }) => outcome !== null);
  const waits = waiting.questions.length + waiting.requests.length + waiting.turns.length + waiting.paused.length;
  const claims = evidence.filter(({ state }) => state !== 'proven');
  const proven = evidence.filter(({ state }) => state === 'proven');
  const claim = (one: Report['evidence'][number]) => `${one.agent}: ${oneLine(evidenceText(one))}`;
  return [
    `Since ${localTime(since, Date.now())}: ${counted(total.runs, 'run')}, ${total.completed} completed, ${total.failed} failed, ${total.cancelled} cancelled; ${costOf(total)}.`,
    ...section('What ran', agents.length, () =>
      table(
        ['AGENT', 'RUNS', 'COMPLETED', 'FAILED', 'COST'],
        agents.map((row) => [row.agent, String(row.runs), String(row.completed), String(row.failed), costOf(row)]),
      ),
    ),
    ...section('Prices per million tokens', priced.length, () =>
      priced.map(({ name, pricing }) => `${name}: ${describePricing(pricing)}`),
    ),
    ...section('Budgets', budgets.length, () =>
      budgets.map(
        (budget) =>
          `${describeBudget(budget)}${budget.waiting > 0 ? `, ${counted(budget.waiting, 'run')} waiting` : ''}`,
      ),
    ),
    ...section('What is proven', proven.length, () => proven.map(claim)),
    ...section('What is claimed or refuted', claims.length, () => claims.map(claim)),
    ...section('What failed', failures.length, () =>
      failures.map(({ run, agent, error, at }) => `${shortId(run)} ${agent}, ${ago(at)}: ${oneLine(error ?? '')}`),
    ),
    ...section('What was answered', settled.length, () =>
      settled.map(({ id, agent, subject, outcome }) => `${shortId(id)} ${agent}: ${oneLine(subject)} (${outcome})`),
    ),
    ...section('What waits for you', waits, () => [
      ...waiting.questions.map(describeQuestion),
      ...waiting.requests.map(
        ({ messageId, from, createdAt }) => `${shortId(messageId)} ${from} waits for your reply, ${ago(createdAt)}`,
      ),
      ...waiting.turns.map(({ agent, state, reason }) => `${agent} is ${state}: ${oneLine(reason ?? '')}`),
      ...waiting.paused.map(({ agent, reason, at }) => `${agent} is paused, ${ago(at)}: ${oneLine(reason)}`),
    ]),
    ...(waits === 0 ? ['', 'Nothing waits for you.'] : []),
  ];
}

function section(title: string, items: number, lines: () => readonly string[]): string[] {
  return items === 0 ? [] : ['', paint('bold', title), ...lines()];
}

function costOf({ inputTokens, outputTokens, costUsd }: Report['total']): string {
  const tokens = `${inputTokens + outputTokens} tokens`;
  return costUsd === 0 ? tokens : `${tokens}, $${costUsd.toFixed(2)}`;
}

function oneLine(text: string): string {
  return shorten(text.replace(/\s+/g, ' '), 160);
}

function readSpan(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const size = UNITS[unit];
  if (count !== undefined && size !== undefined) return Number(count) * size;
  throw new SubstratError('bad_request', `--since must be a duration such as 30m, 8h or 2d, not "${shorten(text)}".`);
}
