import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { ago, localTime } from '../../command-line/time.ts';
import { shorten } from '../../core/text.ts';

export function scheduleCommand(context: Context): Command {
  return new Command('schedule')
    .description('Send messages to agents and channels at times of the wall clock.')
    .addCommand(addCommand(context))
    .addCommand(listCommand(context))
    .addCommand(removeCommand(context));
}

function addCommand(context: Context): Command {
  return new Command('add')
    .description('Add a schedule. Its message is sent in your name, and the answer arrives in your inbox.')
    .argument('<name>', 'name of the schedule')
    .argument('<text...>', 'the message')
    .requiredOption('--cron <line>', 'minute, hour, day of the month, month, day of the week')
    .requiredOption('--to <ref>', 'the agent, or #channel')
    .option('--time-zone <name>', "time zone of the line; default: the daemon's")
    .option('--runs <n>', 'how many runs each firing pays for', Number)
    .addHelpText(
      'after',
      '\nExample:\n  substrat schedule add morning --cron "0 8 * * mon-fri" --to lead "What happened at night?"',
    )
    .action(async (name: string, words: string[], _: unknown, command: Command) => {
      type Options = GlobalOptions & { cron: string; to: string; timeZone?: string; runs?: number };
      const { json, cron, to, timeZone, runs } = command.optsWithGlobals<Options>();
      const wish = {
        name,
        cron,
        to,
        text: words.join(' '),
        ...(timeZone && { timeZone }),
        ...(runs !== undefined && { runs }),
      };
      const made = await createClient({ home: context.home() }).createSchedule(wish);
      if (json) return context.print(JSON.stringify(made));
      context.print(
        `Added the schedule ${made.name}. It fires next ${made.next ? localTime(made.next, Date.now()) : 'never'}.`,
      );
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List schedules.')
    .addHelpText('after', '\nExample:\n  substrat schedule list')
    .action(async (_: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await createClient({ home: context.home() }).listSchedules();
      if (json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print('No schedules. Run `substrat schedule add --help`.');
      const rows = page.items.map((one) => [
        one.name,
        one.cron,
        one.to,
        one.next === null ? '' : localTime(one.next, Date.now()),
        one.last === null ? 'never' : ago(one.last),
        `${one.usedRuns} of ${one.runs}`,
        one.error ?? shorten(one.text.replace(/\s+/g, ' '), 60),
      ]);
      for (const line of table(['NAME', 'CRON', 'TO', 'NEXT', 'LAST', 'RUNS', 'TEXT'], rows)) context.print(line);
    });
}

function removeCommand(context: Context): Command {
  return new Command('remove')
    .description('Remove a schedule that was added by `schedule add`.')
    .argument('<name>', 'name of the schedule')
    .addHelpText('after', '\nExample:\n  substrat schedule remove morning')
    .action(async (name: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const removed = await createClient({ home: context.home() }).removeSchedule(name);
      context.print(json ? JSON.stringify(removed) : `Removed the schedule ${name}.`);
    });
}
