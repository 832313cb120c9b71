import { Command } from 'commander';
import { resolveHome } from '../config/home.ts';
import type { Context } from './context.ts';

/** Each is loaded only when it is called: a command line is started often, and most of its start is loading. */
const COMMANDS: Readonly<Record<string, (context: Context) => Promise<Command>>> = {
  up: async (context) => (await import('./commands/up.ts')).upCommand(context),
  daemon: async (context) => (await import('./commands/daemon.ts')).daemonCommand(context),
  agent: async (context) => (await import('./commands/agent.ts')).agentCommand(context),
  persona: async (context) => (await import('../ctx/commands/agent.ts')).agentCommand(context, 'substrat persona'),
  memory: async (context) => (await import('./commands/memory.ts')).memoryCommand(context),
  channel: async (context) => (await import('./commands/channel.ts')).channelCommand(context),
  inbox: async (context) => (await import('./commands/inbox.ts')).inboxCommand(context),
  run: async (context) => (await import('./commands/run.ts')).runCommand(context),
  workspace: async (context) => (await import('./commands/workspace.ts')).workspaceCommand(context),
  watch: async (context) => (await import('./commands/watch.ts')).watchCommand(context),
  token: async (context) => (await import('./commands/token.ts')).tokenCommand(context),
  doctor: async (context) => (await import('./commands/doctor.ts')).doctorCommand(context),
  completions: async (context) => (await import('./commands/completions.ts')).completionsCommand(context),
};

/** The command line: the one command that is named, or all of them, as for help and for what is made from them. */
export async function createProgram(version: string, named?: string): Promise<Command> {
  const context: Context = {
    version,
    home: () => resolveHome(process.env),
    print: (line) => void process.stdout.write(`${line}\n`),
  };
  const program = new Command('substrat')
    .description('A daemon where teams of AI agents live.')
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
