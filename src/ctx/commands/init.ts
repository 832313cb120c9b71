import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { SubstratError } from '../../core/errors.ts';
import { withStore } from '../context.ts';
import { openReader } from '../open-reader.ts';
import { trustOwn } from '../own-config.ts';

const EXAMPLE = `# docs/configuration.md lists every key with its default; \`ctx config check\` shows the effective values.

[db]
path = "./data/ctx.sqlite"

[chunking]
max_tokens = 700

[retrieval]
final_limit = 12

[connectors.filesystem.docs]
root = "."
include = ["**/*.md", "**/*.txt"]

# [connectors.git.platform]
# url = "https://github.com/acme/platform.git"
# branch = "main"
# root = "docs/"
`;

export function initCommand(context: Context): Command {
  return new Command('init')
    .description('Create the store, and a first ctx.toml if there is no configuration.')
    .addHelpText('after', '\nExample:\n  ctx init && ctx sync')
    .action(async (_: unknown, command: Command) => {
      let { file } = openReader(context, command, { quiet: true }).load();
      const isNew = file === null;
      if (file === null) {
        file = resolve('ctx.toml');
        writeExample(file);
        trustOwn(context, file);
      }
      const store = await withStore(context, command, async ({ config }) =>
        'path' in config.db ? config.db.path : 'PostgreSQL',
      );
      if (isJson(command)) return context.print(JSON.stringify({ config: file, created: isNew, store }));
      context.print(`${isNew ? 'Created' : 'Configuration'}: ${file}`);
      context.print(`Store: ${store}`);
    });
}

/** Does not follow a dangling symlink. */
function writeExample(file: string): void {
  try {
    writeFileSync(file, EXAMPLE, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new SubstratError('config', `${file} cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}
