import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';

export function nodeCommand(context: Context): Command {
  return new Command('node')
    .description('Manage the daemons (nodes) that share a store. Each node runs the agents of its own home.')
    .addCommand(listCommand(context))
    .addCommand(adoptCommand(context));
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List nodes.')
    .addHelpText('after', '\nExample:\n  substrat node list')
    .action(async (_: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await createClient({ home: context.home() }).listNodes();
      if (json) return context.print(JSON.stringify(page));
      const rows = page.items.map((node) => [
        node.id,
        node.state,
        String(node.agents),
        node.name ?? '',
        node.home ?? '',
        node.seenAt ?? 'never',
      ]);
      for (const line of table(['ID', 'STATE', 'AGENTS', 'HOST', 'HOME', 'SEEN'], rows)) context.print(line);
    });
}

function adoptCommand(context: Context): Command {
  return new Command('adopt')
    .description('Take over the agents of a node that no longer runs, for example after its home was lost or moved.')
    .argument('[node]', 'node id, as shown by `node list` (default: all nodes that no longer run)')
    .option('--force', 'adopt even if the node was seen recently')
    .addHelpText('after', '\nExample:\n  substrat node adopt')
    .action(async (node: string | undefined, _: unknown, command: Command) => {
      const { json, force = false } = command.optsWithGlobals<GlobalOptions & { force?: boolean }>();
      const client = createClient({ home: context.home() });
      const wanted =
        node === undefined
          ? (await client.listNodes()).items.filter(({ state }) => state !== 'alive').map(({ id }) => id)
          : [node];
      const items = [];
      for (const id of wanted) items.push(await client.adoptNode(id, { force }));
      if (json) return context.print(JSON.stringify({ items }));
      const done = items.filter(({ agents, workspaces }) => agents + workspaces > 0);
      if (done.length === 0) context.print('Nothing to adopt: every agent belongs to a running node.');
      for (const { id, agents, workspaces } of done) {
        context.print(`Adopted ${agents} agents of node ${id}; ${workspaces} workspaces have new paths.`);
      }
    });
}
