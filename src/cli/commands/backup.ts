import { statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Command } from 'commander';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { harmless, paint } from '../../command-line/terminal.ts';

export function backupCommand(context: Context): Command {
  return new Command('backup')
    .description(
      "Back up the store, the agents' private homes and the configuration to one file. The daemon may be running.",
    )
    .argument('<file>', 'new file; it contains secrets and only you can read it')
    .addHelpText('after', '\nExample:\n  substrat backup ~/substrat-monday.tar.gz')
    .action(async (file: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { backupHome } = await import('../../daemon/backups.ts');
      const { version } = context;
      const onProgress = progress(options);
      const configFile = options.config ?? null;
      const manifest = await backupHome({ home: context.home(), configFile, file, version, onProgress });
      const bytes = statSync(file).size;
      if (options.json) return context.print(JSON.stringify({ status: 'written', file, bytes, manifest }));
      for (const { path, reason } of manifest.skipped.listed) {
        context.print(paint('yellow', `Left out: ${path}: ${reason}`));
      }
      const more = manifest.skipped.count - manifest.skipped.listed.length;
      if (more > 0) context.print(paint('yellow', `Left out: ${more} more`));
      context.print(`Wrote ${file} (${(bytes / 1024 ** 2).toFixed(1)} MiB). It contains secrets: store it safely.`);
      if (manifest.workspaces.length > 0) {
        context.print(
          manifest.workspaces.length === 1
            ? '1 workspace is listed in the manifest but not copied.'
            : `${manifest.workspaces.length} workspaces are listed in the manifest but not copied.`,
        );
      }
    });
}

export function restoreCommand(context: Context): Command {
  return new Command('restore')
    .description('Restore this home from a backup. Stop its daemon first.')
    .argument('<file>', 'file written by `substrat backup`')
    .option('--force', 'replace the existing home; its files are moved aside')
    .addHelpText('after', '\nExample:\n  SUBSTRAT_HOME=~/restored substrat restore ~/substrat-monday.tar.gz')
    .action(async (file: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { force?: boolean }>();
      const { restoreHome } = await import('../../daemon/backups.ts');
      const { force = false } = options;
      const [home, configFile, onProgress] = [context.home(), options.config ?? null, progress(options)];
      const { manifest, before } = await restoreHome({ home, configFile, file, force, onProgress });
      if (options.json) return context.print(JSON.stringify({ status: 'restored', home, before, manifest }));
      context.print(`Restored ${home} from a backup of ${manifest.createdAt}.`);
      if (before !== null) context.print(`The previous files are in ${before}.`);
      if (manifest.workspaces.length === 0) return;
      context.print('Workspaces are not part of a backup. Copy these directories if you need them:');
      for (const { name, path } of manifest.workspaces) {
        const below = relative(manifest.home, path);
        // Those in the old home are expected in the new one.
        const isInside = below !== '' && !below.startsWith('..');
        context.print(`  ${name}: ${path}${isInside && home !== manifest.home ? ` to ${join(home, below)}` : ''}`);
      }
    });
}

/** On stderr, so that stdout contains only the result. */
export function progress({ json }: GlobalOptions): (line: string) => void {
  return json ? () => {} : (line) => void process.stderr.write(`${harmless(line)}\n`);
}
