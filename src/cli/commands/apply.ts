import { Command } from 'commander';
import { type ApplyItem, createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';

interface ApplyOptions extends GlobalOptions {
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly recreate?: string[];
}

export function applyCommand(context: Context): Command {
  return new Command('apply')
    .description(
      "Read the daemon's configuration again and make its members, channels and personas what the file says. Prints the difference first. A setting that people changed stays until the file changes it; if both changed, it is listed and stays.",
    )
    .option('--dry-run', 'only print the difference')
    .option('--force', 'where both changed a setting, take the value of the file; blocks that an agent wrote stay')
    .option('--recreate <names...>', 'create members and channels again that were terminated or deleted')
    .addHelpText('after', '\nExample:\n  substrat apply --dry-run\n  substrat apply --recreate lead')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ApplyOptions>();
      const { dryRun = false, force = false, recreate = [] } = options;
      const client = createClient({ home: context.home() });
      const wish = { force, recreate };
      if (options.json) return context.print(JSON.stringify(await client.apply({ ...wish, dryRun })));
      const { items: planned } = await client.apply({ ...wish, dryRun: true });
      for (const line of planned.map(describeItem)) context.print(line);
      const due = countChanges(planned);
      if (dryRun || due === 0) {
        context.print(due === 0 ? 'Nothing to change.' : `${due} to change. Run \`substrat apply\` to apply them.`);
        return;
      }
      const { items } = await client.apply({ ...wish, dryRun: false });
      // What became different meanwhile.
      const seen = new Set(planned.map((item) => JSON.stringify(item)));
      for (const item of items) if (!seen.has(JSON.stringify(item))) context.print(describeItem(item));
      context.print(`Applied ${countChanges(items)}.`);
    });
}

function countChanges(items: readonly ApplyItem[]): number {
  return items.filter(({ action, kind }) => kind !== 'persona' && (action === 'create' || action === 'change')).length;
}

function describeItem({ kind, name, action, field, from, to, note }: ApplyItem): string {
  const table = kind === 'section' ? `[${name}]` : `[${kind === 'persona' ? 'agents' : `${kind}s`}.${name}]`;
  const why = note === null ? '' : ` (${note})`;
  if (action === 'create') return `${paint('green', '+')} ${table}${why}`;
  const values = from === null && to === null ? '' : `: ${from ?? 'none'} -> ${to ?? 'none'}`;
  const what = `${table}${field === null ? '' : ` ${field}`}${values}${why}`;
  if (action === 'change') return `${paint('yellow', '~')} ${what}`;
  return action === 'conflict' ? `${paint('red', '!')} ${what}` : `${paint('dim', '=')} ${what}`;
}
