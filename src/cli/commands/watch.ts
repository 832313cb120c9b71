import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
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
    .addHelpText('after', '\nExample:\n  substrat watch --agent lead')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & { agent?: string; channel?: string; type?: string; after?: string }
      >();
      if (options.after !== undefined && !/^\d+$/.test(options.after)) {
        throw new UsageError(`--after takes the number of an event; got "${options.after}".`);
      }
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      const events = createClient({ home: context.home() }).followEvents({
        signal: stop.signal,
        ...(options.agent && { agent: options.agent }),
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
