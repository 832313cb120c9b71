import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { spin } from '../../command-line/terminal.ts';
import { SubstratError } from '../../core/errors.ts';
import { progress } from './backup.ts';

/** Shorter than the 30 seconds after which a daemon's writes fail. */
const PATIENCE_MS = 20_000;
const PRELOAD = fileURLToPath(new URL('../../../bin/preload.cjs', import.meta.url));

export function storeCommand(context: Context): Command {
  return new Command('store')
    .description('Maintain the store.')
    .addCommand(compactCommand(context))
    .addCommand(copyCommand(context));
}

interface CompactOptions extends GlobalOptions {
  readonly here?: boolean;
}

function compactCommand(context: Context): Command {
  return new Command('compact')
    .description("Compact a SQLite store (VACUUM). A running daemon's writes wait until it is done.")
    .addOption(new Option('--here', 'in this process').hideHelp())
    .addHelpText('after', '\nExample:\n  substrat store compact')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CompactOptions>();
      const sizes = await (options.here ? compactHere(context, options) : compactBeside(context, options));
      if (options.json) return context.print(JSON.stringify({ status: 'compacted', ...sizes }));
      context.print(`Compacted the store: ${megabytes(sizes.before)} before, ${megabytes(sizes.after)} now.`);
    });
}

function copyCommand(context: Context): Command {
  return new Command('copy')
    .description('Copy a SQLite store, knowledge included, into a PostgreSQL database. Stop the daemon first.')
    .requiredOption('--to <url>', 'a database without a store, postgres://…')
    .addHelpText('after', '\nExample:\n  substrat store copy --to postgres://substrat@db.example/substrat')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { to: string }>();
      if (!/^postgres(ql)?:\/\//.test(options.to)) {
        throw new SubstratError('bad_request', '--to must be the URL of a PostgreSQL database, postgres://… .');
      }
      const { copyHomeStore } = await import('../../daemon/backups.ts');
      const onProgress = progress(options);
      const place = { home: context.home(), configFile: options.config ?? null };
      const tables = await copyHomeStore({ ...place, to: options.to, onProgress });
      if (options.json) return context.print(JSON.stringify({ status: 'copied', tables }));
      const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
      context.print(`Copied and compared ${rows} rows in ${Object.keys(tables).length} tables.`);
      context.print(
        'Set [db] url to that database in your configuration, then start the daemon. The file stays where it is.',
      );
    });
}

async function compactHere(context: Context, { config }: CompactOptions): Promise<Sizes> {
  const { compactHome } = await import('../../daemon/backups.ts');
  return compactHome({ home: context.home(), configFile: config ?? null });
}

/** In a separate process that can be killed: SQLite rolls back. */
async function compactBeside(context: Context, { config }: CompactOptions): Promise<Sizes> {
  const status = await createClient({ home: context.home() })
    .getStatus()
    .catch(() => null);
  const named = config ?? status?.config ?? null;
  const args = ['store', 'compact', '--here', '--json', ...(named ? ['--config', named] : [])];
  const child = spawn(process.execPath, ['--require', PRELOAD, process.argv[1] as string, ...args]);
  const stopSpinning = spin('Compacting ...');
  let late = false;
  const timer = status && setTimeout(() => (late = child.kill('SIGKILL')), PATIENCE_MS);
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  if (timer) clearTimeout(timer);
  stopSpinning();
  if (code === 0) return JSON.parse(stdout) as Sizes;
  if (!late) throw new SubstratError('store', stderr.trim().replace(/^substrat: /, ''));
  const message = `The store was not compacted within ${PATIENCE_MS / 1000} seconds, and the daemon is waiting to write. Nothing was changed. Stop the daemon, then try again.`;
  throw new SubstratError('timeout', message);
}

interface Sizes {
  readonly before: number;
  readonly after: number;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
