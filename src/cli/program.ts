import type { Command } from 'commander';
import { type Commands, createCommandLine } from '../command-line/command-line.ts';

const commands: Commands = {
  up: async (context) => (await import('./commands/up.ts')).upCommand(context),
  daemon: async (context) => (await import('./commands/daemon.ts')).daemonCommand(context),
  agent: async (context) => (await import('./commands/agent.ts')).agentCommand(context),
  persona: async (context) => (await import('../ctx/commands/agent.ts')).agentCommand(context, 'substrat persona'),
  memory: async (context) => (await import('./commands/memory.ts')).memoryCommand(context),
  channel: async (context) => (await import('./commands/channel.ts')).channelCommand(context),
  inbox: async (context) => (await import('./commands/inbox.ts')).inboxCommand(context),
  run: async (context) => (await import('./commands/run.ts')).runCommand(context),
  workspace: async (context) => (await import('./commands/workspace.ts')).workspaceCommand(context),
  node: async (context) => (await import('./commands/node.ts')).nodeCommand(context),
  watch: async (context) => (await import('./commands/watch.ts')).watchCommand(context),
  page: async (context) => (await import('./commands/page.ts')).pageCommand(context),
  token: async (context) => (await import('./commands/token.ts')).tokenCommand(context),
  backup: async (context) => (await import('./commands/backup.ts')).backupCommand(context),
  restore: async (context) => (await import('./commands/backup.ts')).restoreCommand(context),
  store: async (context) => (await import('./commands/store.ts')).storeCommand(context),
  doctor: async (context) => (await import('./commands/doctor.ts')).doctorCommand(context),
  completions: async (context) => (await import('../command-line/completions.ts')).completionsCommand(context),
};

const about = {
  name: 'substrat',
  description: 'Substrat is a daemon that runs teams of AI agents.',
  commands,
} as const;

export function createProgram(version: string, named?: string): Promise<Command> {
  return createCommandLine(about, version, named);
}
