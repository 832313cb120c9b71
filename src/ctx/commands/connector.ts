import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { harmless, table } from '../../command-line/terminal.ts';
import { SubstratError } from '../../core/errors.ts';
import { scanScript } from '../../knowledge/connectors/script.ts';
import { readScript } from '../../scripting/open.ts';
import { openScripting } from '../../scripting/scripting.ts';
import { plural } from '../extended.ts';
import { isPath, scriptAt } from '../named-script.ts';
import { openReader } from '../open-reader.ts';
import { describeScaffold, scaffold } from '../scaffold.ts';

const SHOWN = 20;

export function connectorCommand(context: Context): Command {
  return new Command('connector')
    .description('Manage script connectors.')
    .addCommand(testCommand(context))
    .addCommand(initCommand(context));
}

function testCommand(context: Context): Command {
  return new Command('test')
    .description('Run a script connector once and show the items it returns. Nothing is indexed.')
    .argument('<name>', 'a configured connector, or the path of a script')
    .option('--source <name>', 'with a path: use the settings of [connectors.script.NAME]')
    .addHelpText('after', '\nExample:\n  ctx connector test jira\n  ctx connector test ./jira.lua --source jira')
    .action(async (name: string, { source }: { source?: string }, command: Command) => {
      const reader = openReader(context, command);
      const { script } = reader.load().connectors;
      const file = isPath(name) ? scriptAt(name, script, { source, section: 'connectors.script' }) : null;
      const settings = file === null ? script[name] : { timeout: 30, ...file.settings, path: file.path };
      if (settings === undefined) {
        throw new SubstratError('not_found', `There is no [connectors.script.${name}] in the configuration.`);
      }
      const start = performance.now();
      const scripting = openScripting();
      const { items, problems } = await scanScript({
        scripting,
        settings,
        env: process.env,
        readScript: file === null ? reader.readScript : readScript,
        log: (level, message) => void process.stderr.write(`${level}: ${harmless(message)}\n`),
      }).finally(() => scripting.close());
      const ms = Math.round(performance.now() - start);
      if (isJson(command)) return context.print(JSON.stringify({ items, problems }));
      const rows = items
        .slice(0, SHOWN)
        .map((item) => [item.source_id, item.title ?? '', item.content_type ?? '', String(item.body.length)]);
      if (rows.length > 0) for (const line of table(['SOURCE_ID', 'TITLE', 'TYPE', 'CHARS'], rows)) context.print(line);
      if (items.length > SHOWN) context.print(`… and ${items.length - SHOWN} more`);
      for (const problem of problems) context.print(`Skipped: ${problem.name} (${problem.reason})`);
      context.print(`Scanned in ${ms}ms (${plural(items.length, 'item')}, ${plural(problems.length, 'problem')})`);
    });
}

function initCommand(context: Context): Command {
  return new Command('init')
    .description('Create a Lua script for a new connector.')
    .argument('<name>')
    .addHelpText('after', '\nExample:\n  ctx connector init wiki')
    .action((name: string, _: unknown, command: Command) => {
      const made = scaffold('connector', name);
      if (isJson(command)) return context.print(JSON.stringify({ created: made.path, config: made.config.join('\n') }));
      for (const line of describeScaffold(made)) context.print(line);
    });
}
