import type { Command } from 'commander';
import { type Commands, createCommandLine } from '../command-line/command-line.ts';

const commands: Commands = {
  init: async (context) => (await import('./commands/init.ts')).initCommand(context),
  sync: async (context) => (await import('./commands/sync.ts')).syncCommand(context),
  search: async (context) => (await import('./commands/search.ts')).searchCommand(context),
  get: async (context) => (await import('./commands/get.ts')).getCommand(context),
  sources: async (context) => (await import('./commands/sources.ts')).sourcesCommand(context),
  stats: async (context) => (await import('./commands/stats.ts')).statsCommand(context),
  embed: async (context) => (await import('./commands/embed.ts')).embedCommand(context),
  model: async (context) => (await import('./commands/model.ts')).modelCommand(context),
  export: async (context) => (await import('./commands/export.ts')).exportCommand(context),
  'import-store': async (context) => (await import('./commands/import-store.ts')).importStoreCommand(context),
  serve: async (context) => (await import('./commands/serve.ts')).serveCommand(context),
  agent: async (context) => (await import('./commands/agent.ts')).agentCommand(context),
  tool: async (context) => (await import('./commands/tool.ts')).toolCommand(context),
  connector: async (context) => (await import('./commands/connector.ts')).connectorCommand(context),
  registry: async (context) => (await import('./commands/registry.ts')).registryCommand(context),
  trust: async (context) => (await import('./commands/trust.ts')).trustCommand(context),
  config: async (context) => (await import('./commands/config.ts')).configCommand(context),
  completions: async (context) => (await import('../command-line/completions.ts')).completionsCommand(context, 'ctx'),
};

const about = {
  name: 'ctx',
  description: 'Index, search and serve a knowledge base and personas, without a daemon.',
  commands,
  trust: 'trust the configuration of the current directory, for this command only',
} as const;

export function createProgram(version: string, named?: string): Promise<Command> {
  return createCommandLine(about, version, named);
}
