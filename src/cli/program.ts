import type { Command } from 'commander';
import { type Commands, createCommandLine } from '../command-line/command-line.ts';
import type { Context } from '../command-line/context.ts';

const commands: Commands = {
  init: async (context) => (await import('./commands/init.ts')).initCommand(context),
  up: async (context) => (await import('./commands/up.ts')).upCommand(context),
  daemon: async (context) => (await import('./commands/daemon.ts')).daemonCommand(context),
  agent: async (context) => (await import('./commands/agent.ts')).agentCommand(context),
  apply: async (context) => (await import('./commands/apply.ts')).applyCommand(context),
  chat: async (context) => (await import('./commands/chat.ts')).chatCommand(context),
  persona: async (context) => (await import('../ctx/commands/agent.ts')).agentCommand(context, 'substrat persona'),
  memory: async (context) => (await import('./commands/memory.ts')).memoryCommand(context),
  channel: async (context) => (await import('./commands/channel.ts')).channelCommand(context),
  inbox: async (context) => (await import('./commands/inbox.ts')).inboxCommand(context),
  answer: async (context) => (await import('./commands/questions.ts')).answerCommand(context),
  approve: async (context) => (await import('./commands/questions.ts')).approveCommand(context),
  reject: async (context) => (await import('./commands/questions.ts')).rejectCommand(context),
  budget: async (context) => (await import('./commands/budget.ts')).budgetCommand(context),
  report: async (context) => (await import('./commands/report.ts')).reportCommand(context),
  schedule: async (context) => (await import('./commands/schedule.ts')).scheduleCommand(context),
  run: async (context) => (await import('./commands/run.ts')).runCommand(context),
  workspace: async (context) => (await import('./commands/workspace.ts')).workspaceCommand(context),
  secret: async (context) => (await import('./commands/secret.ts')).secretCommand(context),
  service: async (context) => (await import('./commands/service.ts')).serviceCommand(context),
  node: async (context) => (await import('./commands/node.ts')).nodeCommand(context),
  provider: async (context) => (await import('./commands/provider.ts')).providerCommand(context),
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
  values: (context: Context) => async (placeholder: string) => {
    const [{ createClient }, { valuesFor }] = await Promise.all([import('../client/client.ts'), import('./values.ts')]);
    return valuesFor(createClient({ home: context.home() }), placeholder);
  },
} as const;

export function createProgram(version: string, named?: string): Promise<Command> {
  return createCommandLine(about, version, named);
}
