import { Command } from 'commander';
import { askHidden } from '../../command-line/ask.ts';
import { type Context, isJson, readText, UsageError } from '../../command-line/context.ts';
import { makeHome } from '../../config/home.ts';
import { deleteSecret, listSecrets, setSecret } from '../../config/secrets.ts';
import { statusOf } from '../background.ts';

export function secretCommand(context: Context): Command {
  return new Command('secret')
    .description(
      "Store API keys and other secrets in files of the home that only you can read. The configuration uses them like environment variables, also if the daemon runs as a service, which does not have your shell's variables.",
    )
    .addCommand(setCommand(context))
    .addCommand(listCommand(context))
    .addCommand(deleteCommand(context));
}

function setCommand(context: Context): Command {
  return new Command('set')
    .description('Set a secret. The value is asked for, or read from stdin; it is never an argument.')
    .argument('<name>', 'name of the variable, such as ANTHROPIC_API_KEY')
    .addHelpText(
      'after',
      '\nExample:\n  substrat secret set ANTHROPIC_API_KEY\n  pass show anthropic | substrat secret set ANTHROPIC_API_KEY',
    )
    .action(async (name: string, _: unknown, command: Command) => {
      const home = context.home();
      const value = await readValue(name);
      makeHome(home);
      setSecret(home, name, value);
      const running = (await statusOf(home)) !== null;
      if (isJson(command)) return context.print(JSON.stringify({ status: 'set', name, restart: running }));
      context.print(
        `Set ${name}.${running ? ' Restart the daemon to use it: `substrat daemon stop`, then start it.' : ''}`,
      );
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the names of secrets. Values are never shown.')
    .addHelpText('after', '\nExample:\n  substrat secret list')
    .action((_: unknown, command: Command) => {
      const items = listSecrets(context.home()).map((name) => ({ name }));
      if (isJson(command)) return context.print(JSON.stringify({ items }));
      if (items.length === 0) return context.print('No secrets. `substrat secret set NAME` adds one.');
      for (const { name } of items) context.print(name);
    });
}

function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description('Delete a secret.')
    .argument('<name>', 'name of the secret')
    .addHelpText('after', '\nExample:\n  substrat secret delete ANTHROPIC_API_KEY')
    .action((name: string, _: unknown, command: Command) => {
      deleteSecret(context.home(), name);
      context.print(isJson(command) ? JSON.stringify({ status: 'deleted', name }) : `Deleted ${name}.`);
    });
}

/** A trailing line break, which most programs print, is not part of the value. */
async function readValue(name: string): Promise<string> {
  if (!process.stdin.isTTY) return readText(0).replace(/\r?\n$/, '');
  const typed = await askHidden(`Value of ${name} (not shown): `, process.stdin, process.stderr);
  if (typed === null) throw new UsageError('No value was given. Nothing was changed.');
  return typed;
}
