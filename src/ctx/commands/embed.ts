import { Command } from 'commander';
import { type Context, isJson, UsageError } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { counted } from '../../core/text.ts';
import { embeddingsDisabled } from '../../knowledge/embedding.ts';
import { type OpenedStore, withStore } from '../context.ts';
import { type EmbedChoice, embedAll } from '../embed-all.ts';
import { untilInterrupted } from '../interrupt.ts';

interface EmbedFlags {
  readonly limit?: string;
  readonly batchSize?: string;
  readonly dryRun?: boolean;
}

export function embedCommand(context: Context): Command {
  const pending = new Command('pending')
    .description('Embed every chunk that has no up-to-date vector of the configured model.')
    .option('--limit <n>', 'maximum number of chunks')
    .option('--batch-size <n>', 'chunks for each request, instead of [embedding] batch')
    .option('--dry-run', 'print how many chunks would be embedded and change nothing')
    .addHelpText('after', '\nExample:\n  ctx embed pending --limit 500 --batch-size 64')
    .action((flags: EmbedFlags, command: Command) =>
      withStore(context, command, (opened) => embed(context, command, opened, flags)),
    );
  const rebuild = new Command('rebuild')
    .description('Delete the vectors of all models and embed every chunk again.')
    .option('--batch-size <n>', 'chunks for each request, instead of [embedding] batch')
    .addHelpText('after', '\nExample:\n  ctx embed rebuild')
    .action((flags: EmbedFlags, command: Command) =>
      withStore(context, command, async (opened) => {
        if (!opened.embedder) throw embeddingsDisabled();
        const choice = readChoice(flags);
        await opened.store.write((tx) => tx.documents.deleteVectors());
        await embed(context, command, opened, flags, choice);
      }),
    );
  return new Command('embed')
    .description('Manage the vectors for semantic search.')
    .addCommand(pending)
    .addCommand(rebuild);
}

async function embed(
  context: Context,
  command: Command,
  opened: OpenedStore,
  flags: EmbedFlags,
  choice = readChoice(flags),
): Promise<void> {
  const { store, embedder } = opened;
  if (!embedder) throw embeddingsDisabled();
  if (flags.dryRun) return showPending(context, command, opened, embedder.model, choice);
  const interrupted = untilInterrupted();
  const { embedded, chunks } = await embedAll(opened, embedder, interrupted, choice);
  const models = (await store.read((tx) => tx.documents.listVectorModels())).map((row) => ({ ...row }));
  if (isJson(command)) return context.print(JSON.stringify({ model: embedder.model, embedded, chunks, models }));
  context.print(`${embedder.model}: ${embedded} embedded${interrupted.aborted ? ', interrupted' : ''}`);
  const rows = models.map(({ model, dimension, vectors }) => [model, String(dimension), `${vectors} of ${chunks}`]);
  for (const line of table(['MODEL', 'DIMENSION', 'VECTORS'], rows)) context.print(line);
}

async function showPending(
  context: Context,
  command: Command,
  { store }: OpenedStore,
  model: string,
  { limit }: EmbedChoice,
): Promise<void> {
  let [pending, after] = [0, 0];
  for (;;) {
    const chunks = await store.read((tx) => tx.documents.listUnembedded({ model, after, limit: PAGE }));
    if (chunks.length === 0) break;
    pending += chunks.length;
    after = chunks.at(-1)?.id ?? after;
  }
  const would = Math.min(pending, limit ?? pending);
  if (isJson(command)) return context.print(JSON.stringify({ model, pending, would_embed: would }));
  context.print(`${model}: ${counted(pending, 'chunk')} pending, ${would} would be embedded`);
}

const PAGE = 1_000;

function readChoice({ limit, batchSize }: EmbedFlags): EmbedChoice {
  return {
    limit: limit === undefined ? null : readWhole('--limit', limit, 1_000_000_000),
    batch: batchSize === undefined ? null : readWhole('--batch-size', batchSize, 2_048),
  };
}

function readWhole(option: string, text: string, most: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new UsageError(`${option} takes a whole number from 1 to ${most}; got "${text}".`);
}
