import { Command } from 'commander';
import { type Context, collectArgument, isJson, UsageError } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import type { Config } from '../../config/config.ts';
import type { ConfigReader } from '../../config/config-reader.ts';
import { SubstratError } from '../../core/errors.ts';
import { readScript } from '../../scripting/open.ts';
import { withStore } from '../context.ts';
import { withExtensions } from '../extended.ts';
import { isPath, scriptAt } from '../named-script.ts';
import { openReader } from '../open-reader.ts';
import { describeScaffold, scaffold } from '../scaffold.ts';

export function toolCommand(context: Context): Command {
  return new Command('tool')
    .description('Manage script tools.')
    .addCommand(listCommand(context))
    .addCommand(testCommand(context))
    .addCommand(initCommand(context));
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the script tools and their parameters.')
    .addHelpText('after', '\nExample:\n  ctx tool list')
    .action(async (_: unknown, command: Command) => {
      const tools = await withExtensions(openReader(context, command), undefined, async (opened) =>
        opened.tools.list(),
      );
      const z = await import('zod');
      const shown = tools.map(({ name, description, source, input }) => ({
        name,
        description,
        source,
        parameters: z.toJSONSchema(input, { io: 'input' }),
      }));
      if (isJson(command)) return context.print(JSON.stringify({ tools: shown }));
      if (shown.length === 0) return context.print('No script tools. Run `ctx tool init NAME` to create one.');
      const rows = shown.map(({ name, description, parameters }) => {
        const required = new Set(parameters.required ?? []);
        const keys = Object.keys(parameters.properties ?? {});
        return [name, keys.map((key) => (required.has(key) ? key : `[${key}]`)).join(' '), description];
      });
      for (const line of table(['NAME', 'PARAMETERS', 'DESCRIPTION'], rows)) context.print(line);
    });
}

function testCommand(context: Context): Command {
  return new Command('test')
    .description('Call a script tool once and show its result.')
    .argument('<name>', 'a configured tool, or the path of a script')
    .option('--source <name>', 'with a path: use the settings of [tools.script.NAME]')
    .option('--param <name=value>', 'parameter; JSON values are parsed; may be repeated', collectArgument)
    .option('--params <json>', 'all parameters as one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  ctx tool test create_jira_ticket --param title="Disk is full"\n  ctx tool test ./jira.lua --source create_jira_ticket --param title=Test',
    )
    .action(async (given: string, options: TestFlags, command: Command) => {
      await withStore(context, command, async ({ reader, config, knowledge }) => {
        const file = isPath(given) ? toolAt(given, options.source, config) : null;
        const name = file?.name ?? given;
        await withExtensions(file === null ? reader : readerOf(file, config), knowledge, async ({ tools }) => {
          const tool = tools.find(name);
          if (tool === null) throw new SubstratError('not_found', `There is no script tool "${name}".`);
          const start = performance.now();
          const result = await tool.call({ ...readObject(options.params), ...readValues(options.param ?? {}) });
          const ms = Math.round(performance.now() - start);
          if (isJson(command)) return context.print(JSON.stringify({ result }));
          context.print(`Tool: ${paint('bold', name)}`);
          context.print(JSON.stringify({ result }, null, 2));
          context.print(paint('dim', `Done in ${ms}ms`));
        });
      });
    });
}

interface TestFlags {
  readonly source?: string;
  readonly param?: Record<string, string>;
  readonly params?: string;
}

type ToolEntry = Config['tools'][number];

function toolAt(given: string, source: string | undefined, config: Config): ToolEntry {
  const tables = Object.fromEntries(config.tools.map((entry) => [entry.name, entry]));
  const { name, path, settings } = scriptAt(given, tables, { source, section: 'tools.script' });
  const plain = { timeoutMs: 30_000, env: [], network: null, config: {} };
  return { ...(settings ?? plain), name, path };
}

/** Only this tool, read from the file that a person named. */
function readerOf(entry: ToolEntry, config: Config): ConfigReader {
  const load = (): Config => ({ ...config, agents: [], tools: [entry] });
  return { load, readScript, trusted: false, record: null, within: null };
}

function initCommand(context: Context): Command {
  return new Command('init')
    .description('Create a Lua script for a new tool.')
    .argument('<name>')
    .addHelpText('after', '\nExample:\n  ctx tool init create_ticket')
    .action((name: string, _: unknown, command: Command) => {
      const made = scaffold('tool', name);
      if (isJson(command)) return context.print(JSON.stringify({ created: made.path, config: made.config.join('\n') }));
      for (const line of describeScaffold(made)) context.print(line);
    });
}

function readObject(source: string | undefined): Record<string, unknown> {
  if (source === undefined) return {};
  const value = readJson(source);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new UsageError('--params takes a JSON object.');
}

/** `3`, `true` and `["a"]` are parsed as JSON; everything else is text. */
function readValues(given: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).map(([key, text]) => [key, readJson(text) ?? text]));
}

function readJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return null;
  }
}
