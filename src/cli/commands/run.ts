import { Command, Option } from 'commander';
import { createClient, type Run, type RunMessage } from '../../client/client.ts';
import { type Context, type GlobalOptions, readCount } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { ago, localTime, span } from '../../command-line/time.ts';
import { evidenceText } from '../../core/evidence.ts';
import { shortId } from '../../core/short-id.ts';
import { shorten } from '../../core/text.ts';
import { failedText, runMarkdown } from '../export.ts';
import { runRow } from './agent-view.ts';
import { traceCommand } from './run-trace.ts';

const STATES = ['created', 'running', 'completed', 'failed', 'cancelled'];

export function runCommand(context: Context): Command {
  return new Command('run')
    .description("Inspect, extend, restart and cancel agents' turns.")
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(traceCommand(context))
    .addCommand(usageCommand(context))
    .addCommand(extendCommand(context))
    .addCommand(restartCommand(context))
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
      const rows = page.items.map((run) => {
        const [id = '', ...rest] = runRow(run);
        return [id, run.agent, ...rest];
      });
      for (const line of table(['ID', 'AGENT', 'STATE', 'STARTED', 'TOOK', 'RESULT'], rows)) context.print(line);
    });
}

function showCommand(context: Context): Command {
  return new Command('show')
    .description('Show a run: its result first, then its steps.')
    .argument('<run>', 'its id, or the last 6 or more characters of it')
    .option('--prompt', 'show its prompt, too')
    .addHelpText('after', '\nExample:\n  substrat run show 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json, prompt } = command.optsWithGlobals<GlobalOptions & { prompt?: boolean }>();
      const client = createClient({ home: context.home() });
      const run = await client.getRun(id);
      if (json) return context.print(JSON.stringify(run));
      const tries = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
      const when = run.startedAt === null ? '' : `, started ${ago(run.startedAt)}`;
      context.print(`${paint('bold', run.agent)}: ${run.state}${when}, ${duration(run)}${tries}`);
      const { progress } = run;
      if (progress && progress.state !== 'working') {
        context.print(paint('yellow', `${progress.state}: ${progress.reason ?? ''}`));
      }
      const used = describeUsage(run);
      if (used !== null) context.print(used);
      if (run.error) context.print(paint('red', run.error));
      for (const failed of run.failedAttempts) context.print(failedText(failed));
      const lost = run.state === 'failed' || run.state === 'cancelled' ? (await client.listCarried(run.id)).items : [];
      for (const { from, text, state } of lost) if (state === 'dead') context.print(`Lost: ${from}: ${shorten(text)}`);
      for (const one of run.evidence) context.print(evidenceText(one));
      if (run.finalText) context.print(`\n${indent(run.finalText)}`);
      const [given, steps] = [run.messages.filter(isPrompt), run.messages.filter((one) => !isPrompt(one))];
      // The last text is the result, which is shown already.
      const last = steps.findLast(({ type }) => type === 'assistant_message');
      const repeated = last && contentOf(last) === run.finalText ? last : null;
      const shown = [...steps.filter((one) => one !== repeated), ...(prompt ? given : [])];
      if (shown.length > 0) context.print('');
      for (const message of shown) context.print(`${paint('dim', titleOf(message))}\n${indent(contentOf(message))}`);
      if (!prompt) context.print(paint('dim', `\n\`substrat run show ${shortId(run.id)} --prompt\` adds the prompt.`));
    });
}

function exportCommand(context: Context): Command {
  return new Command('export')
    .description('Print a whole run, with its prompt and every step, as Markdown, or as JSON with --json.')
    .argument('<run>', 'its id, or the last 6 or more characters of it')
    .addHelpText('after', '\nExample:\n  substrat run export 3f9a1c > run.md')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const run = await createClient({ home: context.home() }).getRun(id);
      context.print(json ? JSON.stringify(run) : runMarkdown(run).trimEnd());
    });
}

function isPrompt({ type }: RunMessage): boolean {
  return type === 'system_message' || type === 'user_message';
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
        sum.grade ?? '',
      ]);
      for (const line of table([by.toUpperCase(), 'RUNS', 'TOKENS IN', 'TOKENS OUT', 'USD', 'COUNTED'], rows))
        context.print(line);
    });
}

const CERTAINTY = { metered: 'counted by Substrat', reported: 'as the program reports', assumed: 'estimated' };

function describeUsage({ usage: { inputTokens, outputTokens, costUsd, grade } }: Run): string | null {
  if (grade === null) return null;
  const cost = costUsd > 0 ? `, $${costUsd.toFixed(4)}` : '';
  return `${inputTokens} tokens in, ${outputTokens} out${cost} (${CERTAINTY[grade]})`;
}

function extendCommand(context: Context): Command {
  return new Command('extend')
    .description('Wait longer for a stalled or looping run: no message about it is sent before the time is over.')
    .argument('<run>', 'its id, or the last 6 or more characters of it')
    .option('--minutes <n>', 'for how long', '30')
    .addHelpText('after', '\nExample:\n  substrat run extend 3f9a1c --minutes 120')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json, minutes } = command.optsWithGlobals<GlobalOptions & { minutes: string }>();
      const extended = await createClient({ home: context.home() }).extendRun(id, readCount('--minutes', minutes));
      context.print(json ? JSON.stringify(extended) : `Extended until ${localTime(extended.until)}.`);
    });
}

function restartCommand(context: Context): Command {
  return new Command('restart')
    .description('End the attempt in progress and start the turn again. The attempt does not count as failed.')
    .argument('<run>', 'its id, or the last 6 or more characters of it')
    .addHelpText('after', '\nExample:\n  substrat run restart 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const restarted = await createClient({ home: context.home() }).restartRun(id);
      context.print(json ? JSON.stringify(restarted) : 'Restarted the turn.');
    });
}

function cancelCommand(context: Context): Command {
  return new Command('cancel')
    .description('Cancel a run. The requests it was answering get an error reply. This cannot be undone.')
    .argument('<run>', 'its id, or the last 6 or more characters of it')
    .addHelpText('after', '\nExample:\n  substrat run cancel 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const cancelled = await createClient({ home: context.home() }).cancelRun(id);
      context.print(json ? JSON.stringify(cancelled) : 'Cancelled the run.');
    });
}

function duration({ startedAt, endedAt }: Run): string {
  if (startedAt === null) return 'not started';
  const ms = (endedAt === null ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt);
  return endedAt === null ? `running for ${span(ms, 1)}` : `took ${span(ms, 1)}`;
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
