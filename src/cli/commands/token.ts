import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { shortId } from '../../core/short-id.ts';

export function tokenCommand(context: Context): Command {
  return new Command('token')
    .description('Manage API tokens for other people and programs.')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(revokeCommand(context));
}

function createCommand(context: Context): Command {
  return new Command('create')
    .description('Create a token. It is shown once; only its hash is stored.')
    .requiredOption('--as <name>', 'person who uses the token; "user" is you')
    .option('--label <text>', 'what the token is for', '')
    .addHelpText('after', '\nExample:\n  substrat token create --as anna --label laptop')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { as: string; label: string }>();
      const made = await createClient({ home: context.home() }).createToken({ as: options.as, label: options.label });
      context.print(options.json ? JSON.stringify(made) : made.token);
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List tokens.')
    .addHelpText('after', '\nExample:\n  substrat token list')
    .action(async (_: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await createClient({ home: context.home() }).listTokens();
      if (json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print("No tokens except the home's own.");
      const rows = page.items.map((token) => [
        shortId(token.id),
        token.as,
        token.revokedAt ? 'revoked' : 'valid',
        token.label,
      ]);
      for (const line of table(['ID', 'AS', 'STATE', 'LABEL'], rows)) context.print(line);
    });
}

function revokeCommand(context: Context): Command {
  return new Command('revoke')
    .description('Revoke a token.')
    .argument('<token>', 'token id, as shown by `token list`')
    .addHelpText('after', '\nExample:\n  substrat token revoke 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const revoked = await createClient({ home: context.home() }).revokeToken(id);
      context.print(json ? JSON.stringify(revoked) : 'Revoked the token.');
    });
}
