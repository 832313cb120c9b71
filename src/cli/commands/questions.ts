import { Command } from 'commander';
import { createClient, type Question } from '../../client/client.ts';
import { type Context, type GlobalOptions, readArgument } from '../../command-line/context.ts';
import { SubstratError } from '../../core/errors.ts';

type Options = GlobalOptions & { text?: string; arguments?: string };

export function answerCommand(context: Context): Command {
  return new Command('answer')
    .description('Answer a question of an agent.')
    .argument('<question>', 'its id, or the last 6 or more characters of it')
    .argument('<text>', 'the answer; "-" reads stdin')
    .addHelpText('after', '\nExample:\n  substrat inbox --open\n  substrat answer 3f9a1c "Use main."')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<Options>();
      show(context, json, await createClient({ home: context.home() }).answerQuestion(id, readArgument(text)));
    });
}

export function approveCommand(context: Context): Command {
  return new Command('approve')
    .description('Permit one call of an agent, with exactly the arguments that it asked for.')
    .argument('<question>', 'its id, or the last 6 or more characters of it')
    .option('--text <text>', 'words for the agent')
    .option('--arguments <json>', 'approve these arguments instead')
    .addHelpText('after', '\nExample:\n  substrat approve 3f9a1c --text "Only on staging."')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json, text, arguments: args } = command.optsWithGlobals<Options>();
      const wish = { ...(text !== undefined && { text }), ...(args !== undefined && { arguments: readObject(args) }) };
      show(context, json, await createClient({ home: context.home() }).approveQuestion(id, wish));
    });
}

export function rejectCommand(context: Context): Command {
  return new Command('reject')
    .description('Refuse a call of an agent.')
    .argument('<question>', 'its id, or the last 6 or more characters of it')
    .option('--text <text>', 'words for the agent')
    .addHelpText('after', '\nExample:\n  substrat reject 3f9a1c --text "Not before Monday."')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json, text } = command.optsWithGlobals<Options>();
      show(context, json, await createClient({ home: context.home() }).rejectQuestion(id, text));
    });
}

const DONE = { approved: 'Approved', revised: 'Approved other arguments for', rejected: 'Rejected' };

function show(context: Context, json: boolean | undefined, question: Question): void {
  context.print(json ? JSON.stringify(question) : sentenceOf(question));
}

function sentenceOf({ outcome, tool, agent }: Question): string {
  const isDecided = outcome === 'approved' || outcome === 'revised' || outcome === 'rejected';
  return isDecided ? `${DONE[outcome]} ${tool} of ${agent}` : `Answered ${agent}`;
}

function readObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new SubstratError('bad_request', '--arguments is not a JSON object, such as \'{"to": "staging"}\'.');
}
