import { Command } from 'commander';
import { resolveHome } from '../config/home.ts';
import { agentCommand } from './commands/agent.ts';
import { completionsCommand } from './commands/completions.ts';
import { daemonCommand, upCommand } from './commands/daemon.ts';
import { doctorCommand } from './commands/doctor.ts';
import { inboxCommand } from './commands/inbox.ts';
import { runCommand } from './commands/run.ts';
import { tokenCommand } from './commands/token.ts';
import { watchCommand } from './commands/watch.ts';
import type { Context } from './context.ts';

/** The whole command line. docs/cli.md and the completions are made from it. */
export function createProgram(version: string): Command {
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
  for (const make of [
    upCommand,
    daemonCommand,
    agentCommand,
    inboxCommand,
    runCommand,
    watchCommand,
    tokenCommand,
    doctorCommand,
    completionsCommand,
  ]) {
    program.addCommand(make(context));
  }
  for (const command of everyCommand(program)) command.exitOverride().showHelpAfterError('(--help shows how)');
  return program;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
