import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { resolveHome } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';
import { agentCommand } from './commands/agent.ts';
import { daemonCommand, upCommand } from './commands/daemon.ts';
import { type Context, UsageError } from './context.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const context: Context = {
  version,
  home: () => resolveHome(process.env),
  print: (line) => void process.stdout.write(`${line}\n`),
};

// Whoever reads us may have seen enough (`| head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const program = new Command('substrat')
  .description('A daemon where teams of AI agents live.')
  .version(version)
  .option('--config <file>', 'configuration file')
  .option('--json', 'print one JSON value and nothing else')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
  .addCommand(upCommand(context))
  .addCommand(daemonCommand(context))
  .addCommand(agentCommand(context));
for (const command of [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)]) {
  command.exitOverride().showHelpAfterError('(--help shows how)');
}

process.exitCode = await program.parseAsync().then(() => 0, exitCodeOf);

/** 0 done, 1 it failed, 2 wrong usage. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const message =
    error instanceof SubstratError || error instanceof UsageError ? error.message : (error as Error).stack;
  process.stderr.write(`substrat: ${message}\n`);
  return error instanceof UsageError ? 2 : 1;
}
