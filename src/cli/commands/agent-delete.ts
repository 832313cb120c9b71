import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import { agreed } from '../../command-line/ask.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { SubstratError } from '../../core/errors.ts';
import { counted } from '../../core/text.ts';

export function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description(
      'Delete a terminated agent and all of its descendants, with their messages, runs, memory and private homes. Workspaces stay. This cannot be undone.',
    )
    .argument('<ref>', 'the agent')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  substrat agent terminate lead && substrat agent delete lead')
    .action(async (ref: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      const client = createClient({ home: context.home() });
      const agent = await client.getAgent(ref);
      if (agent.state !== 'terminated') {
        const first = `Run \`substrat agent terminate ${agent.handle}\` first.`;
        throw new SubstratError('conflict', `${agent.handle} is not terminated. ${first}`);
      }
      const question = `Delete ${agent.handle} and all below it, with their messages and memory, for good?`;
      if (!options.yes && !(await agreed(question))) return context.print('Nothing was changed.');
      const deleted = await client.deleteAgent(agent.id);
      const { agents, messages, runs } = deleted;
      const what = `${counted(messages, 'message')} and ${counted(runs, 'run')}`;
      context.print(options.json ? JSON.stringify(deleted) : `Deleted ${agents.join(', ')} with ${what}.`);
    });
}
