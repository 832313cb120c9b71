import { Command } from 'commander';
import { type Budget, type BudgetSetting, createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { amountText } from '../../core/budget.ts';
import { SubstratError } from '../../core/errors.ts';
import { shortId } from '../../core/short-id.ts';

export function budgetCommand(context: Context): Command {
  return new Command('budget')
    .description('Limit what agents and people may use.')
    .addCommand(setCommand(context))
    .addCommand(listCommand(context))
    .addCommand(removeCommand(context));
}

type SetOptions = GlobalOptions & {
  tokens?: string;
  usd?: string;
  runs?: string;
  minutes?: string;
  total?: boolean;
  only?: boolean;
  person?: boolean;
};

function setCommand(context: Context): Command {
  return new Command('set')
    .description(
      'Set limits for an agent and all below it, per day. When one is used up, turns stop and you are asked.',
    )
    .argument('<ref>', 'the agent; with --person the handle of a person, "user" is you')
    .option('--tokens <count>', 'tokens')
    .option('--usd <amount>', 'US dollars')
    .option('--runs <count>', 'turns')
    .option('--minutes <count>', 'minutes of turns')
    .option('--total', 'in total instead of per day')
    .option('--only', 'only for the agent itself, not for those below it')
    .option('--person', 'for what the messages of a person start')
    .addHelpText('after', '\nExample:\n  substrat budget set lead --tokens 2000000 --usd 5')
    .action(async (of: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<SetOptions>();
      const scope = options.person ? 'person' : options.only ? 'agent' : 'subtree';
      const period = options.total ? 'total' : 'day';
      const wishes = limitsIn(options).map((limit): BudgetSetting => ({ scope, of, period, ...limit }));
      if (wishes.length === 0)
        throw new SubstratError('bad_request', 'Give a limit: --tokens, --usd, --runs or --minutes.');
      const client = createClient({ home: context.home() });
      const items: Budget[] = [];
      for (const wish of wishes) items.push(await client.setBudget(wish));
      if (options.json) return context.print(JSON.stringify({ items, nextCursor: null }));
      for (const budget of items) context.print(`Set ${describeBudget(budget)}`);
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List budgets with what is used of each.')
    .addHelpText('after', '\nExample:\n  substrat budget list')
    .action(async (_: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await createClient({ home: context.home() }).listBudgets();
      if (json) return context.print(JSON.stringify(page));
      if (page.items.length === 0)
        return context.print('No budgets. Run `substrat budget set --help` to see how to set one.');
      const rows = page.items.map((budget) => [
        shortId(budget.id),
        whose(budget),
        `${amountText(budget.unit, budget.limit)} ${PERIODS[budget.period]}`,
        amountText(budget.unit, budget.used),
        budget.reserved > 0 ? amountText(budget.unit, budget.reserved) : '',
        amountText(budget.unit, budget.left),
        budget.waiting === 0 ? '' : String(budget.waiting),
      ]);
      for (const line of table(['ID', 'OF', 'LIMIT', 'USED', 'RESERVED', 'LEFT', 'WAITING'], rows)) context.print(line);
    });
}

function removeCommand(context: Context): Command {
  return new Command('remove')
    .description('Remove a budget. What waited for it continues.')
    .argument('<budget>', 'budget id, as shown by `budget list`')
    .addHelpText('after', '\nExample:\n  substrat budget remove 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const removed = await createClient({ home: context.home() }).removeBudget(id);
      context.print(json ? JSON.stringify(removed) : 'Removed the budget');
    });
}

const PERIODS = { day: 'per day', total: 'in total', first_day: 'on its first day' } as const;

/** As in "lead and below: 5,000 tokens per day, 1,200 used". */
export function describeBudget(budget: Budget): string {
  const { unit, limit, used, period } = budget;
  return `${whose(budget)}: ${amountText(unit, limit)} ${PERIODS[period]}, ${amountText(unit, used)} used`;
}

function whose({ scope, of }: Budget): string {
  return { agent: of, subtree: `${of} and below`, person: `the work of ${of}` }[scope];
}

function limitsIn({ tokens, usd, runs, minutes }: SetOptions): Pick<BudgetSetting, 'unit' | 'amount'>[] {
  const given = [
    ['tokens', tokens, 1],
    ['usd', usd, 1],
    ['runs', runs, 1],
    ['seconds', minutes, 60],
  ] as const;
  return given.flatMap(([unit, text, factor]) => {
    if (text === undefined) return [];
    const amount = Number(text.replaceAll(/[_,]/g, ''));
    if (text.trim() === '' || !(amount >= 0)) throw new SubstratError('bad_request', `"${text}" is not an amount.`);
    return [{ unit, amount: amount * factor }];
  });
}
