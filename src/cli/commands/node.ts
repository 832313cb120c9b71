import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { counted } from '../../core/text.ts';

export function nodeCommand(context: Context): Command {
  return new Command('node')
    .description('Manage the daemons (nodes) that share a store. Each node runs the agents of its own home.')
    .addCommand(listCommand(context))
    .addCommand(inspectCommand(context))
    .addCommand(drainCommand(context))
    .addCommand(undrainCommand(context))
    .addCommand(removeCommand(context))
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
        node.name ?? node.id,
        node.self ? `${node.state} (this)` : node.state,
        String(node.agents),
        `${node.running}/${node.slots}`,
        node.labels.join(','),
        node.providers.join(','),
        node.host ?? '',
        node.version ?? '',
        node.seenAt ?? 'never',
      ]);
      const head = ['NAME', 'STATE', 'AGENTS', 'RUNNING', 'LABELS', 'PROVIDERS', 'HOST', 'VERSION', 'SEEN'];
      for (const line of table(head, rows)) context.print(line);
    });
}

function inspectCommand(context: Context): Command {
  return new Command('inspect')
    .description('Show a node.')
    .argument('<node>', 'name or id of the node')
    .addHelpText('after', '\nExample:\n  substrat node inspect gpu-box')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const node = await createClient({ home: context.home() }).getNode(ref);
      if (json) return context.print(JSON.stringify(node));
      const rows: readonly (readonly [string, string])[] = [
        ['Name', node.name ?? ''],
        ['Id', node.id],
        ['State', node.self ? `${node.state} (this daemon)` : node.state],
        ['Host', node.host ?? ''],
        ['Home', node.home ?? ''],
        ['Version', node.version ?? ''],
        ['Labels', node.labels.join(', ')],
        ['Shared', node.shared.join(', ')],
        ['Providers', node.providers.join(', ')],
        ['Slots', `${node.running} of ${node.slots} in use, ${counted(node.queued, 'run')} waiting`],
        ['Agents', String(node.agents)],
        ['Started', node.startedAt ?? ''],
        ['Heartbeat', node.seenAt ?? 'never'],
        ['Draining', node.drainingAt === null ? 'no' : `since ${node.drainingAt}`],
      ];
      for (const [what, value] of rows) context.print(`${`${what}:`.padEnd(11)}${value}`);
    });
}

function drainCommand(context: Context): Command {
  return new Command('drain')
    .description(
      'Let a node finish its runs and start nothing new. External runs are closed. Agents without files and session there move to other nodes.',
    )
    .argument('<node>', 'name or id of the node')
    .addHelpText('after', '\nExample:\n  substrat node drain gpu-box')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const node = await createClient({ home: context.home() }).drainNode(ref);
      context.print(
        json
          ? JSON.stringify(node)
          : `Node ${ref} drains: ${counted(node.running, 'run')} and ${counted(node.agents, 'agent')}.`,
      );
    });
}

function undrainCommand(context: Context): Command {
  return new Command('undrain')
    .description('Let a drained node start runs again.')
    .argument('<node>', 'name or id of the node')
    .addHelpText('after', '\nExample:\n  substrat node undrain gpu-box')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const node = await createClient({ home: context.home() }).undrainNode(ref);
      context.print(json ? JSON.stringify(node) : `Node ${ref} starts runs again.`);
    });
}

function removeCommand(context: Context): Command {
  return new Command('remove')
    .description('Remove a node that no longer runs and has no agents.')
    .argument('<node>', 'name or id of the node')
    .addHelpText('after', '\nExample:\n  substrat node remove old-box')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const removed = await createClient({ home: context.home() }).removeNode(ref);
      context.print(json ? JSON.stringify(removed) : `Removed node ${ref}.`);
    });
}

/** Not running, or this one, whose workspaces may have moved. */
function isGone({ state, self }: { readonly state: string; readonly self: boolean }): boolean {
  return self || state === 'stopped' || state === 'dead';
}

function adoptCommand(context: Context): Command {
  return new Command('adopt')
    .description('Take over the agents of a node that no longer runs, for example after its home was lost or moved.')
    .argument('[node]', 'name or id of the node, as shown by `node list` (default: all nodes that no longer run)')
    .option('--force', 'adopt even if the node was seen recently')
    .addHelpText('after', '\nExample:\n  substrat node adopt')
    .action(async (node: string | undefined, _: unknown, command: Command) => {
      const { json, force = false } = command.optsWithGlobals<GlobalOptions & { force?: boolean }>();
      const client = createClient({ home: context.home() });
      const wanted = node === undefined ? (await client.listNodes()).items.filter(isGone).map(({ id }) => id) : [node];
      const items = [];
      for (const id of wanted) items.push(await client.adoptNode(id, { force }));
      if (json) return context.print(JSON.stringify({ items }));
      const done = items.filter(({ agents, workspaces }) => agents + workspaces > 0);
      if (done.length === 0) context.print('Nothing to adopt: every agent belongs to a running node.');
      for (const { id, agents, workspaces } of done) {
        context.print(
          `Adopted ${counted(agents, 'agent')} of node ${id}; ${workspaces === 1 ? '1 workspace has a new path' : `${workspaces} workspaces have new paths`}.`,
        );
      }
    });
}
