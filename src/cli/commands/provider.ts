import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { describePricing } from '../describe-pricing.ts';

const LOGINS = { key: 'key', login: 'login', none: 'none', not_needed: '-' } as const;

export function providerCommand(context: Context): Command {
  return new Command('provider').description('Show what can run agents here.').addCommand(
    new Command('list')
      .description(
        'List providers with their versions, logins, prices per million tokens and limits. No service is called.',
      )
      .addHelpText('after', '\nExample:\n  substrat provider list')
      .action(async (_: unknown, command: Command) => {
        const { json } = command.optsWithGlobals<GlobalOptions>();
        const page = await createClient({ home: context.home() }).listProviders();
        if (json) return context.print(JSON.stringify(page));
        const rows = page.items.map((one) => [
          one.isDefault ? `${one.name} (default)` : one.name,
          one.found ? 'yes' : 'no',
          one.version ?? '',
          LOGINS[one.login],
          one.login === 'not_needed' ? '-' : describePricing(one.pricing),
          one.limits.map((limit) => `${limit.agent ?? limit.account ?? 'all'} until ${limit.until}`).join(', '),
          one.problem ?? '',
        ]);
        const head = ['PROVIDER', 'FOUND', 'VERSION', 'LOGIN', 'PRICES', 'LIMITED', 'PROBLEM'];
        for (const line of table(head, rows)) context.print(line);
      }),
  );
}
