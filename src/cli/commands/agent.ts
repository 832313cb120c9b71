import { resolve } from 'node:path';
import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import { type Context, collectArgument, type GlobalOptions, readText, UsageError } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { EXTERNAL } from '../../core/provider-names.ts';
import { shortId } from '../../core/short-id.ts';
import { PROVIDER_NAMES } from '../../providers/described.ts';
import { deleteCommand } from './agent-delete.ts';
import { mcpCommand } from './agent-mcp.ts';
import { sendCommand } from './agent-send.ts';
import { historyCommand, pauseCommand, readList, readWorkspace, renameCommand, setCommand } from './agent-settings.ts';
import { inspectCommand, listCommand } from './agent-view.ts';

export function agentCommand(context: Context): Command {
  return new Command('agent')
    .description('Create agents and talk to them. REF is a name, a path (lead/worker-1), a handle or an id.')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(inspectCommand(context))
    .addCommand(sendCommand(context))
    .addCommand(promptCommand(context))
    .addCommand(setCommand(context))
    .addCommand(renameCommand(context))
    .addCommand(historyCommand(context))
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(moveCommand(context))
    .addCommand(terminateCommand(context))
    .addCommand(deleteCommand(context))
    .addCommand(mcpCommand(context));
}

interface CreateOptions extends GlobalOptions {
  readonly provider?: string;
  readonly model?: string;
  readonly program?: string;
  readonly maySpawn?: string;
  readonly fallback?: string;
  readonly instructions?: string;
  readonly instructionsFile?: string;
  readonly role?: string;
  readonly parent?: string;
  readonly workspace?: string;
  readonly worktree?: boolean;
  readonly clone?: string;
  readonly tools?: string;
  readonly persona?: string;
  readonly arg?: Record<string, string>;
  readonly node?: string;
  readonly label?: string[];
}

function createCommand(context: Context): Command {
  return new Command('create')
    .description('Create an agent.')
    .argument('<name>', 'letters, digits, "_" and "-"')
    .option(
      '--provider <provider>',
      `provider that runs the agent: ${PROVIDER_NAMES.join(', ')}, or one of yours with \`kind = "acp"\` (default: \`[daemon] default_provider\`, or the first one found with a login)`,
    )
    .option('--model <model>', 'model, for providers that support models')
    .option('--program <file>', 'program of a scripted agent; .ts and .js files run with Node')
    .option('--may-spawn <choices>', 'providers its children may have: PROVIDER or PROVIDER:MODEL, separated by commas')
    .option('--fallback <choices>', 'providers that take over while its own has reached a limit, in this order')
    .option('--instructions <text>', "the agent's instructions")
    .option('--instructions-file <file>', 'read the instructions from a file')
    .option('--role <role>', 'any label (default: worker)')
    .option('--parent <ref>', 'parent agent')
    .option('--workspace <workspace>', 'workspace name, or a directory path (anything containing "/")')
    .option('--clone <address>', 'clone a git repository; after each turn the files are pushed to [node] wip_remote')
    .option('--worktree', 'create a git worktree of the --workspace repository, on a branch of its own')
    .option('--tools <names>', 'tools the agent may use, separated by commas (default: all)')
    .option('--persona <name>', 'configured persona that provides its instructions and tools')
    .option('--arg <name=value>', 'argument of the persona; may be repeated', collectArgument)
    .option(
      '--node <node>',
      'node that runs the agent (default: where its workspace or program is, or the least loaded)',
    )
    .option('--label <label...>', 'create it on a node with these labels')
    .addHelpText(
      'after',
      '\nExample:\n  substrat agent create counter --program ./counter.ts\n  substrat agent create sre --persona incident-responder --arg service=payments-api',
    )
    .action(async (name: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CreateOptions>();
      if (options.arg !== undefined && options.persona === undefined) {
        throw new UsageError('--arg requires --persona.');
      }
      if (options.instructions !== undefined && options.instructionsFile !== undefined) {
        throw new UsageError('Give --instructions or --instructions-file, not both.');
      }
      const client = createClient({ home: context.home() });
      const agent = await client.createAgent({
        name,
        provider: options.provider ?? null,
        model: options.model ?? null,
        program: options.program ? resolve(options.program) : null,
        instructions: options.instructionsFile ? readText(options.instructionsFile) : (options.instructions ?? ''),
        role: options.role ?? null,
        parent: options.parent ?? null,
        workspace: options.workspace === undefined ? null : readWorkspace(options.workspace),
        worktree: options.worktree ?? false,
        clone: options.clone ?? null,
        maySpawn: options.maySpawn === undefined ? null : readList(options.maySpawn),
        fallback: options.fallback === undefined ? null : readList(options.fallback),
        tools: options.tools === undefined ? null : readList(options.tools),
        persona: options.persona ?? null,
        arguments: options.arg ?? {},
        node: options.node ?? null,
        labels: options.label ?? [],
      });
      context.print(options.json ? JSON.stringify(agent) : `Created agent ${agent.handle} (${shortId(agent.id)}).`);
      if (!options.json && !options.provider && !options.program && !options.parent)
        context.print(
          `It runs with ${agent.provider}. Use --provider or \`[daemon] default_provider\` for another one.`,
        );
      const { sandboxProblem } = await client.getStatus();
      if (sandboxProblem !== null && agent.provider !== EXTERNAL && !options.json)
        console.error(`substrat: ${sandboxProblem}`);
    });
}

function promptCommand(context: Context): Command {
  return new Command('prompt')
    .description("Show the prompt of the agent's next turn, section by section, with estimated token counts.")
    .argument('<ref>', 'the agent')
    .addHelpText('after', '\nExample:\n  substrat agent prompt lead')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const prompt = await createClient({ home: context.home() }).getPrompt(ref);
      if (json) return context.print(JSON.stringify(prompt));
      for (const { name, text, tokens } of prompt.sections) {
        context.print(`${paint('bold', `[${name}, about ${tokens} tokens]`)}\n${text}\n`);
      }
      context.print(paint('dim', `About ${prompt.tokens} tokens in total (estimate: ${prompt.estimate}).`));
    });
}

function resumeCommand(context: Context): Command {
  return new Command('resume')
    .description(
      'Resume a paused agent. Messages that arrived meanwhile are delivered. `agent inspect` shows why it was paused.',
    )
    .argument('<ref>', 'the agent')
    .addHelpText('after', '\nExample:\n  substrat agent resume lead')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const agent = await createClient({ home: context.home() }).resumeAgent(ref);
      context.print(json ? JSON.stringify(agent) : `Resumed ${agent.handle}.`);
    });
}

function moveCommand(context: Context): Command {
  return new Command('move')
    .description('Move an agent, and its descendants in the same workspace, to another node.')
    .argument('<ref>', 'the agent')
    .requiredOption('--node <node>', 'name or id of the node')
    .option('--without-workspace', 'leave its files and session behind; it begins with an empty workspace')
    .addHelpText('after', '\nExample:\n  substrat agent move lead --node gpu-box --without-workspace')
    .action(async (ref: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { node: string; withoutWorkspace?: boolean }>();
      const { node, withoutWorkspace = false } = options;
      const agent = await createClient({ home: context.home() }).moveAgent(ref, { node, withoutWorkspace });
      context.print(options.json ? JSON.stringify(agent) : `Moved ${agent.handle} to ${agent.node}.`);
    });
}

function terminateCommand(context: Context): Command {
  return new Command('terminate')
    .description('Terminate an agent and all of its descendants. This cannot be undone.')
    .argument('<ref>', 'the agent')
    .addHelpText('after', '\nExample:\n  substrat agent terminate lead')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const ended = await createClient({ home: context.home() }).terminateAgent(ref);
      context.print(json ? JSON.stringify(ended) : `Terminated ${ref}.`);
    });
}
