import { Command } from 'commander';
import { resolveHome } from '../config/home.ts';
import type { CtxContext } from './context.ts';

/** Each is loaded only when it is called: most of a start is loading. */
const COMMANDS: Readonly<Record<string, (context: CtxContext) => Promise<Command>>> = {
  init: async (context) => (await import('./commands/init.ts')).initCommand(context),
  sync: async (context) => (await import('./commands/sync.ts')).syncCommand(context),
  search: async (context) => (await import('./commands/search.ts')).searchCommand(context),
  get: async (context) => (await import('./commands/get.ts')).getCommand(context),
  sources: async (context) => (await import('./commands/sources.ts')).sourcesCommand(context),
  stats: async (context) => (await import('./commands/stats.ts')).statsCommand(context),
  embed: async (context) => (await import('./commands/embed.ts')).embedCommand(context),
  export: async (context) => (await import('./commands/export.ts')).exportCommand(context),
  serve: async (context) => (await import('./commands/serve.ts')).serveCommand(context),
  agent: async (context) => (await import('./commands/agent.ts')).agentCommand(context),
  tool: async (context) => (await import('./commands/tool.ts')).toolCommand(context),
  connector: async (context) => (await import('./commands/connector.ts')).connectorCommand(context),
  config: async (context) => (await import('./commands/config.ts')).configCommand(context),
  completions: async (context) => (await import('../cli/commands/completions.ts')).completionsCommand(context, 'ctx'),
};

/** The command line: the one command that is named, or all of them, as for help and for what is made from them. */
export async function createProgram(version: string, named?: string): Promise<Command> {
  const context: CtxContext = {
    version,
    home: () => resolveHome(process.env),
    print: (line) => void process.stdout.write(`${line}\n`),
  };
  const program = new Command('ctx')
    .description('The knowledge base and its personas, without a daemon.')
    .version(version)
    .option('--config <file>', 'configuration file')
    .option('--json', 'print one JSON value (a stream: one a line) and nothing else')
    .configureHelp({ showGlobalOptions: true });
  const alone = named === undefined || named === 'completions' ? undefined : COMMANDS[named];
  for (const load of alone ? [alone] : Object.values(COMMANDS)) program.addCommand(await load(context));
  for (const command of everyCommand(program)) command.exitOverride().showHelpAfterError('(--help shows how)');
  return program;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
