import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { embeddingsDisabled } from '../../knowledge/embedding.ts';
import { type OpenedStore, withStore } from '../context.ts';
import { embedAll } from '../embed-all.ts';
import { untilInterrupted } from '../interrupt.ts';

export function embedCommand(context: Context): Command {
  const pending = new Command('pending')
    .description('Embed every chunk that has no up-to-date vector of the configured model.')
    .addHelpText('after', '\nExample:\n  ctx embed pending')
    .action((_: unknown, command: Command) => withStore(context, command, (opened) => embed(context, command, opened)));
  const rebuild = new Command('rebuild')
    .description('Delete the vectors of all models and embed every chunk again.')
    .addHelpText('after', '\nExample:\n  ctx embed rebuild')
    .action((_: unknown, command: Command) =>
      withStore(context, command, async (opened) => {
        if (!opened.embedder) throw embeddingsDisabled();
        await opened.store.write((tx) => tx.documents.deleteVectors());
        await embed(context, command, opened);
      }),
    );
  return new Command('embed')
    .description('Manage the vectors for semantic search.')
    .addCommand(pending)
    .addCommand(rebuild);
}

async function embed(context: Context, command: Command, opened: OpenedStore): Promise<void> {
  const { store, embedder } = opened;
  if (!embedder) throw embeddingsDisabled();
  const interrupted = untilInterrupted();
  const { embedded, chunks } = await embedAll(opened, embedder, interrupted);
  const models = (await store.read((tx) => tx.documents.listVectorModels())).map((row) => ({ ...row }));
  if (isJson(command)) return context.print(JSON.stringify({ model: embedder.model, embedded, chunks, models }));
  context.print(`${embedder.model}: ${embedded} embedded${interrupted.aborted ? ', interrupted' : ''}`);
  const rows = models.map(({ model, dimension, vectors }) => [model, String(dimension), `${vectors} of ${chunks}`]);
  for (const line of table(['MODEL', 'DIMENSION', 'VECTORS'], rows)) context.print(line);
}
