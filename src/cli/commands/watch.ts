import { Command } from 'commander';
import { createClient, type LiveEvent } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { describeEvent } from '../describe.ts';

export function watchCommand(context: Context): Command {
  return new Command('watch')
    .description('Print events as they happen, until Ctrl-C. Reconnects if the daemon restarts.')
    .option('--agent <ref>', 'only events of this agent')
    .option('--channel <id>', 'only messages in this channel')
    .option('--type <types>', 'only these event types, separated by commas')
    .option('--after <number>', 'start after this event number; 0 starts at the oldest stored event')
    .option('--live', 'print what agents write and call at this moment, instead of events')
    .addHelpText('after', '\nExamples:\n  substrat watch --agent lead\n  substrat watch --live --agent lead')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & { agent?: string; channel?: string; type?: string; after?: string; live?: boolean }
      >();
      if (options.after !== undefined && !/^\d+$/.test(options.after)) {
        throw new UsageError(`--after takes the number of an event; got "${options.after}".`);
      }
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      const client = createClient({ home: context.home() });
      const agent = options.agent && { agent: options.agent };
      if (options.live) return printLive(context, client.followLive({ signal: stop.signal, ...agent }), options);
      const events = client.followEvents({
        signal: stop.signal,
        ...agent,
        ...(options.channel && { channel: options.channel }),
        ...(options.type && { types: options.type.split(',') }),
        ...(options.after && { after: Number(options.after) }),
      });
      for await (const event of events) {
        if (options.json) context.print(JSON.stringify(event));
        else
          context.print(`${paint('dim', event.at.slice(11, 19))} ${describeEvent(event) ?? paint('dim', event.type)}`);
      }
    });
}

/** Texts line by line as they are written, and calls. */
async function printLive(context: Context, events: AsyncIterable<LiveEvent>, { json }: GlobalOptions): Promise<void> {
  /** The line that is being written in each run. */
  const lines = new Map<string, string>();
  const finish = (runId: string) => {
    const line = lines.get(runId);
    if (line) context.print(line);
    lines.delete(runId);
  };
  for await (const event of events) {
    const { type, runId, text, tool = '' } = event;
    if (json) context.print(JSON.stringify(event));
    else if (type === 'live_text') {
      const [last = '', ...complete] = `${lines.get(runId) ?? ''}${text}`.split('\n').reverse();
      for (const line of complete.reverse()) context.print(line);
      lines.set(runId, last);
    } else {
      finish(runId);
      context.print(paint('dim', type === 'live_tool_call' ? `> ${tool} ${text}` : `< ${text}`));
    }
  }
  for (const runId of [...lines.keys()]) finish(runId);
}
