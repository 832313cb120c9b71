import { Command } from 'commander';
import { createClient, type Trace } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { localTime, span } from '../../command-line/time.ts';
import { shortId } from '../../core/short-id.ts';
import { shorten } from '../../core/text.ts';

export function traceCommand(context: Context): Command {
  return new Command('trace')
    .description('Follow the request that a run belongs to through all agents.')
    .argument('<run>', 'its id, or the last 6 or more characters of it')
    .addHelpText('after', '\nExample:\n  substrat run trace 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const trace = await createClient({ home: context.home() }).getTrace(id);
      if (command.optsWithGlobals<GlobalOptions>().json) return context.print(JSON.stringify(trace));
      for (const line of describeTrace(trace)) context.print(line);
    });
}

function describeTrace({ message, runs, complete }: Trace): string[] {
  const depths = new Map<string, number>();
  const lines = runs.map((run) => {
    const depth = run.parent === null ? 0 : (depths.get(run.parent) ?? 0) + 1;
    depths.set(run.run, depth);
    const took =
      run.startedAt && run.endedAt ? `, ${span(Date.parse(run.endedAt) - Date.parse(run.startedAt), 1)}` : '';
    const cost = run.costUsd > 0 ? `, $${run.costUsd.toFixed(4)}` : '';
    const error = run.error === null ? '' : paint('red', ` ${shorten(run.error)}`);
    return `${'  '.repeat(depth + 1)}${paint('bold', run.agent)} ${shortId(run.run)} ${run.state}${took}${cost}${error}`;
  });
  return [
    message === null
      ? 'The message that began it no longer exists.'
      : `${message.from}, ${localTime(message.createdAt)}: ${shorten(message.text)}`,
    ...lines,
    ...(complete ? [] : ['Only the first 200 runs are listed.']),
  ];
}
