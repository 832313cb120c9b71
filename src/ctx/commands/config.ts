import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { explainConfig } from '../../config/explain.ts';
import { openReader } from '../open-reader.ts';

export function configCommand(context: Context): Command {
  const check = new Command('check')
    .description('Check the configuration and print the effective values with their origin.')
    .addHelpText('after', '\nExample:\n  ctx config check --config ctx.toml')
    .action((_: unknown, command: Command) => {
      const { file } = openReader(context, command).load();
      const around = { cwd: process.cwd(), home: context.home(), env: process.env };
      const explained = explainConfig({ ...around, file: file ?? undefined });
      if (isJson(command)) return context.print(JSON.stringify(explained));
      context.print(`Configuration: ${explained.file ?? 'none (defaults)'}`);
      const rows = explained.settings.map(({ key, value, origin }) => [key, JSON.stringify(value), origin]);
      for (const line of table(['KEY', 'VALUE', 'FROM'], rows)) context.print(line);
    });
  return new Command('config').description('Inspect the configuration.').addCommand(check);
}
