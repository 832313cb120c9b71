import { readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { Command } from 'commander';
import { allPages, type Client, createClient, type Message } from '../../client/client.ts';
import {
  type Context,
  collectArgument,
  type GlobalOptions,
  readArgument,
  readText,
  UsageError,
} from '../../command-line/context.ts';
import { paint, spin, table } from '../../command-line/terminal.ts';
import { MAX_ATTACHMENT_BYTES } from '../../core/attachment.ts';
import { SubstratError } from '../../core/errors.ts';
import { EXTERNAL } from '../../core/provider-names.ts';
import { PROVIDER_NAMES } from '../../providers/described.ts';
import { describeNotices, describeStatus } from '../describe.ts';

/** How long one request to the daemon waits for a reply before it is repeated. */
const WAIT_SLICE_S = 30;

export function agentCommand(context: Context): Command {
  return new Command('agent')
    .description('Create agents and talk to them. REF is a name, a path (lead/worker-1), a handle or an id.')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(inspectCommand(context))
    .addCommand(sendCommand(context))
    .addCommand(promptCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(moveCommand(context))
    .addCommand(terminateCommand(context))
    .addCommand(mcpCommand(context));
}

interface CreateOptions extends GlobalOptions {
  readonly provider?: string;
  readonly model?: string;
  readonly program?: string;
  readonly instructions?: string;
  readonly instructionsFile?: string;
  readonly role?: string;
  readonly parent?: string;
  readonly workspace?: string;
  readonly worktree?: boolean;
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
    .option('--provider <provider>', `provider that runs the agent: ${PROVIDER_NAMES.join(', ')}`)
    .option('--model <model>', 'model, for providers that support models')
    .option('--program <file>', 'program of a scripted agent; .ts and .js files run with Node')
    .option('--instructions <text>', "the agent's instructions")
    .option('--instructions-file <file>', 'read the instructions from a file')
    .option('--role <role>', 'any label (default: worker)')
    .option('--parent <ref>', 'parent agent')
    .option('--workspace <workspace>', 'workspace name, or a directory path (anything containing "/")')
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
        workspace: readWorkspace(options.workspace),
        worktree: options.worktree ?? false,
        tools:
          options.tools === undefined
            ? null
            : options.tools
                .split(',')
                .map((tool) => tool.trim())
                .filter(Boolean),
        persona: options.persona ?? null,
        arguments: options.arg ?? {},
        node: options.node ?? null,
        labels: options.label ?? [],
      });
      context.print(options.json ? JSON.stringify(agent) : `Created agent ${agent.handle} (${agent.id}).`);
      const { sandboxProblem } = await client.getStatus();
      if (sandboxProblem !== null && agent.provider !== EXTERNAL) console.error(`substrat: ${sandboxProblem}`);
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List agents.')
    .option('--all', 'include terminated agents')
    .addHelpText('after', '\nExample:\n  substrat agent list')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { all?: boolean }>();
      const client = createClient({ home: context.home() });
      const items = [];
      const { all = false } = options;
      for await (const agent of allPages((query) => client.listAgents({ ...query, all }))) items.push(agent);
      if (options.json) return context.print(JSON.stringify({ items, nextCursor: null }));
      if (items.length === 0)
        return context.print('No agents yet. Run `substrat agent create --help` to see how to create one.');
      const rows = items.map((agent) => [
        agent.handle,
        agent.state,
        agent.role,
        agent.provider,
        agent.node,
        String(agent.pending),
        agent.status ? describeStatus(agent.status) : '',
      ]);
      for (const line of table(['HANDLE', 'STATE', 'ROLE', 'PROVIDER', 'NODE', 'PENDING', 'STATUS'], rows))
        context.print(line);
      for (const line of describeNotices(await client.getStatus())) context.print(line);
    });
}

function sendCommand(context: Context): Command {
  return new Command('send')
    .description(
      'Send a message to an agent as yourself. If the agent has exactly one open question to you, the message answers it. Otherwise the message is a request that the agent will answer.',
    )
    .argument('<ref>', 'the agent')
    .argument('<text>', 'message text; "-" reads stdin')
    .option('--wait', 'wait for the answer and print it')
    .option('--timeout <seconds>', 'how long to wait (default: no limit)')
    .option('--reply-to <message>', 'answer the question with this message id')
    .option('--attach <file>', 'attach a file, at most 5 MiB; repeatable', collectFiles, [])
    .option('--new', 'send a new request even if the agent has an open question to you')
    .addHelpText('after', '\nExample:\n  substrat agent send lead "How far are you?" --wait')
    .action(async (ref: string, text: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & SendOptions>();
      if (options.new && options.replyTo) throw new UsageError('Give --new or --reply-to, not both.');
      const timeout = options.timeout === undefined ? Number.POSITIVE_INFINITY : Number(options.timeout);
      if (!(timeout > 0)) throw new UsageError(`--timeout takes a number of seconds; got "${options.timeout}".`);
      const client = createClient({ home: context.home() });
      const sent = await client.sendMessage(ref, {
        text: readArgument(text),
        ...(options.attach.length > 0 && { attachments: options.attach.map(readAttachment) }),
        ...(options.replyTo && { inReplyTo: options.replyTo }),
        ...(options.new && { inReplyTo: null }),
      });
      const { messageId, answered } = sent;
      // A message that answers a question gets no reply of its own.
      if (!options.wait || answered) {
        const line = answered ? `Answered the question ${answered} (${messageId}).` : `Sent (${messageId}).`;
        return context.print(options.json ? JSON.stringify(sent) : line);
      }
      const stopSpinning = spin(`Waiting for ${ref} ...`);
      const reply = await waitForReply(client, messageId, timeout).finally(stopSpinning);
      const { messageId: replyId, from, text: answer } = reply;
      context.print(
        options.json ? JSON.stringify({ messageId, reply: { messageId: replyId, from, text: answer } }) : answer,
      );
      if (reply.kind === 'error') throw new SubstratError('conflict', `${from} could not answer.`);
    });
}

interface SendOptions {
  readonly attach: readonly string[];
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly replyTo?: string;
  readonly new?: boolean;
}

async function waitForReply(client: Client, messageId: string, timeoutS: number): Promise<Message> {
  const giveUp = performance.now() + timeoutS * 1000;
  for (;;) {
    const left = (giveUp - performance.now()) / 1000;
    if (left <= 0) {
      throw new SubstratError(
        'timeout',
        `No answer within ${timeoutS} seconds; it will still come (message ${messageId}).`,
      );
    }
    const reply = await client.awaitReply(messageId, Math.min(WAIT_SLICE_S, left));
    if (reply) return reply;
  }
}

function mcpCommand(context: Context): Command {
  return new Command('mcp')
    .description(
      'Print the MCP configuration that connects your own client (Cursor, Claude Code) as an external agent.',
    )
    .argument('<ref>', 'an agent whose provider is external')
    .addHelpText(
      'after',
      '\nExample:\n  substrat agent create me --provider external\n  substrat agent mcp me > .cursor/mcp.json',
    )
    .action(async (ref: string) => {
      const { config } = await createClient({ home: context.home() }).getMcpConfig(ref);
      context.print(JSON.stringify(config, null, 2));
    });
}

function inspectCommand(context: Context): Command {
  return new Command('inspect')
    .description('Show an agent and its recent activity.')
    .argument('<ref>', 'the agent')
    .addHelpText('after', '\nExample:\n  substrat agent inspect lead/worker-1')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const agent = await client.getAgent(ref);
      const { items: runs } = await client.listRuns({ agent: agent.id, limit: 10 });
      if (json) return context.print(JSON.stringify({ ...agent, runs }));
      const { name, handle, instructions, status, ...others } = agent;
      const rest = { ...others, status: status && describeStatus(status) };
      context.print(`${paint('bold', handle)} (${name})`);
      const facts = Object.entries(rest).filter(([, value]) => value !== null);
      for (const line of table(
        ['', ''],
        facts.map(([key, value]) => [key, typeof value === 'object' ? JSON.stringify(value) : String(value)]),
      ).slice(1))
        context.print(line);
      if (instructions) context.print(`instructions:\n${instructions.replace(/^/gm, '  ')}`);
      for (const run of runs)
        context.print(`${paint('dim', run.createdAt)} ${run.state} ${run.finalText ?? run.error ?? ''}`);
      for (const line of describeNotices(await client.getStatus())) context.print(line);
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

/** A name or a directory, which is recognized by a slash; a worktree always needs a directory. */
function readWorkspace(workspace: string | undefined): string | null {
  if (workspace === undefined) return null;
  return workspace.includes('/') || /^\.{1,2}$/.test(workspace) ? resolve(workspace) : workspace;
}

function collectFiles(file: string, files: readonly string[]): string[] {
  return [...files, file];
}

function readAttachment(file: string): { name: string; data: string } {
  const problem = (why: string) => new UsageError(`${file} cannot be attached: ${why}.`);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) throw problem('there is no such file');
  if (!stat.isFile()) throw problem('it is not a regular file');
  if (stat.size > MAX_ATTACHMENT_BYTES)
    throw problem(`it has ${stat.size} bytes; at most ${MAX_ATTACHMENT_BYTES} are allowed`);
  return { name: basename(file), data: readFileSync(file).toString('base64') };
}
