import { Command, Option } from 'commander';
import { createClient, type Run, type RunMessage } from '../../client/client.ts';
import { type Context, type GlobalOptions, readCount } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';

const STATES = ['created', 'running', 'completed', 'failed', 'cancelled'];

export function runCommand(context: Context): Command {
  return new Command('run')
    .description("Inspect and cancel agents' turns.")
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(usageCommand(context))
    .addCommand(cancelCommand(context));
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List runs, newest first.')
    .option('--agent <ref>', 'only runs of this agent')
    .addOption(new Option('--state <state>', 'only runs in this state').choices(STATES))
    .option('--limit <n>', 'maximum number', '20')
    .addHelpText('after', '\nExample:\n  substrat run list --agent lead --state failed')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & { agent?: string; state?: Run['state']; limit: string }
      >();
      const { agent, state } = options;
      const client = createClient({ home: context.home() });
      const page = await client.listRuns({ agent, state, limit: readCount('--limit', options.limit) });
      if (options.json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print('No runs.');
      const rows = page.items.map((run) => [
        run.id,
        run.agent,
        run.state,
        String(run.attempt),
        duration(run),
        run.error ?? '',
      ]);
      for (const line of table(['ID', 'AGENT', 'STATE', 'ATTEMPT', 'TOOK', 'ERROR'], rows)) context.print(line);
    });
}

function showCommand(context: Context): Command {
  return new Command('show')
    .description('Show a run with all of its steps.')
    .argument('<id>', 'the run')
    .addHelpText('after', '\nExample:\n  substrat run show 0b7e5c2e-…')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const run = await createClient({ home: context.home() }).getRun(id);
      if (json) return context.print(JSON.stringify(run));
      context.print(`${paint('bold', run.agent)}: ${run.state}, attempt ${run.attempt}, ${duration(run)}`);
      if (run.error) context.print(paint('red', run.error));
      for (const message of run.messages)
        context.print(`${paint('dim', titleOf(message))}\n${indent(contentOf(message))}`);
    });
}

function usageCommand(context: Context): Command {
  return new Command('usage')
    .description('Show the number of turns, tokens and costs by agent, tree or day.')
    .addOption(new Option('--by <what>', 'agent, tree or day').choices(['agent', 'tree', 'day']).default('agent'))
    .option('--since <time>', 'from this date or time on (UTC)')
    .option('--until <time>', 'before this date or time')
    .addHelpText('after', '\nExample:\n  substrat run usage --by day --since 2026-01-01')
    .action(async (_: unknown, command: Command) => {
      const { by, since, until, json } = command.optsWithGlobals<
        GlobalOptions & { by: 'agent' | 'tree' | 'day'; since?: string; until?: string }
      >();
      const page = await createClient({ home: context.home() }).listUsage({ by, since, until });
      if (json) return context.print(JSON.stringify(page));
      const rows = page.items.map((sum) => [
        sum.of,
        String(sum.runs),
        String(sum.inputTokens),
        String(sum.outputTokens),
        sum.costUsd.toFixed(4),
      ]);
      for (const line of table([by.toUpperCase(), 'RUNS', 'TOKENS IN', 'TOKENS OUT', 'USD'], rows)) context.print(line);
    });
}

function cancelCommand(context: Context): Command {
  return new Command('cancel')
    .description('Cancel a run. The requests it was answering get an error reply. This cannot be undone.')
    .argument('<id>', 'the run')
    .addHelpText('after', '\nExample:\n  substrat run cancel 0b7e5c2e-…')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const cancelled = await createClient({ home: context.home() }).cancelRun(id);
      context.print(json ? JSON.stringify(cancelled) : 'Cancelled the run.');
    });
}

function duration({ startedAt, endedAt }: Run): string {
  if (startedAt === null) return 'not started';
  const end = endedAt === null ? Date.now() : Date.parse(endedAt);
  return `${((end - Date.parse(startedAt)) / 1000).toFixed(1)} s`;
}

function titleOf({ type, tool, step, isError }: RunMessage): string {
  return [`step ${step}`, type.replaceAll('_', ' '), tool, isError ? '(error)' : null].filter(Boolean).join(' · ');
}

function contentOf({ content }: RunMessage): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
