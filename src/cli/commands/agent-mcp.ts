import { Command, Option } from 'commander';
import { createClient } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { installServer, MCP_CLIENTS, uninstallServer } from '../mcp-clients.ts';

const clients = Object.keys(MCP_CLIENTS);

export function mcpCommand(context: Context): Command {
  return new Command('mcp')
    .description(
      'Connect your own client (Claude Code, Cursor, Codex) as an external agent: print its MCP configuration, or add it to the client.',
    )
    .argument('<ref>', 'an agent whose provider is external')
    .addOption(new Option('--install <client>', 'add it to the configuration of this client').choices(clients))
    .addOption(new Option('--uninstall <client>', 'remove it from there').choices(clients))
    .addHelpText(
      'after',
      '\nExample:\n  substrat agent create me --provider external\n  substrat agent mcp me --install claude\n  substrat agent mcp me',
    )
    .action(async (ref: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { install?: string; uninstall?: string }>();
      const { install, uninstall, json } = options;
      if (install !== undefined && uninstall !== undefined)
        throw new UsageError('Give --install or --uninstall, not both.');
      if (uninstall !== undefined) {
        const file = uninstallServer(clientNamed(uninstall), process.cwd());
        const line = file === null ? `${uninstall} has no server of Substrat here.` : `Removed Substrat from ${file}.`;
        return context.print(json ? JSON.stringify({ file }) : line);
      }
      const { config } = await createClient({ home: context.home() }).getMcpConfig(ref);
      if (install === undefined) return context.print(JSON.stringify(config, null, 2));
      const client = clientNamed(install);
      const file = installServer(client, config.mcpServers.substrat, process.cwd());
      if (json) return context.print(JSON.stringify({ file }));
      context.print(`Added ${ref} to ${file}. ${client.next}`);
      context.print(`\`substrat agent mcp ${ref} --uninstall ${install}\` removes it. The daemon must be running.`);
    });
}

function clientNamed(name: string) {
  const client = MCP_CLIENTS[name];
  if (!client) throw new UsageError(`There is no client "${name}". Clients: ${clients.join(', ')}.`);
  return client;
}
