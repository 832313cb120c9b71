import { Command } from 'commander';
import { type Client, createClient, type LiveEvent } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { localClock } from '../../command-line/time.ts';
import { describeEvent } from '../describe.ts';
import { eventsOfProject, projectOf } from '../project-agents.ts';

/** How many stored events are looked through for what happened last. */
const RECENT = 100;

export function watchCommand(context: Context): Command {
  return new Command('watch')
    .description(
      'Print the last events, then new ones as they happen, until Ctrl-C. Reconnects if the daemon restarts.',
    )
    .option('--agent <ref>', 'only events of this agent')
    .option('--here', 'only agents that work in the repository of the current directory')
    .option('--channel <id>', 'only messages in this channel')
    .option('--type <types>', 'only these event types, separated by commas')
    .option('--after <number>', 'start after this event number; 0 starts at the oldest stored event')
    .option('--live', 'print what agents write and call at this moment, instead of events')
    .addHelpText('after', '\nExamples:\n  substrat watch --agent lead\n  substrat watch --live --agent lead')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & {
          agent?: string;
          here?: boolean;
          channel?: string;
          type?: string;
          after?: string;
          live?: boolean;
        }
      >();
      if (options.after !== undefined && !/^\d+$/.test(options.after)) {
        throw new UsageError(`--after takes the number of an event; got "${options.after}".`);
      }
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      const client = createClient({ home: context.home() });
      const agent = options.agent && { agent: options.agent };
      if (options.live) {
        const live = client.followLive({ signal: stop.signal, ...agent });
        return printLive(context, live, handles(client), options);
      }
      const events = client.followEvents({
        signal: stop.signal,
        ...agent,
        ...(options.channel && { channel: options.channel }),
        ...(options.type && { types: options.type.split(',') }),
        ...(options.after ? { after: Number(options.after) } : !options.json && { after: -RECENT }),
      });
      const project = options.here ? projectOf(process.cwd()) : null;
      const concerns = project === null ? null : await eventsOfProject(client, project);
      if (!options.json) context.print(paint('dim', describeWatch({ ...options, project })));
      for await (const event of events) {
        if (concerns && !(await concerns(event))) continue;
        const line = options.json ? JSON.stringify(event) : describeEvent(event);
        if (line !== null) context.print(options.json ? line : `${paint('dim', localClock(event.at))} ${line}`);
      }
    });
}

function describeWatch({ agent, channel, type, project }: Watched): string {
  const who = project === null ? 'all agents' : `the agents of ${project}`;
  const what = [agent, channel && `#${channel}`].filter(Boolean).join(' in ') || who;
  return `Watching ${what}${type ? ` (${type})` : ''}, beginning with the last events. Press Ctrl-C to stop.`;
}

interface Watched {
  readonly agent?: string;
  readonly channel?: string;
  readonly type?: string;
  readonly project: string | null;
}

/** Texts line by line as they are written, and calls. */
async function printLive(
  context: Context,
  events: AsyncIterable<LiveEvent>,
  nameOf: (agentId: string) => Promise<string>,
  { json }: GlobalOptions,
): Promise<void> {
  /** The line that is being written in each run, by agent. */
  const lines = new Map<string, { readonly agentId: string; readonly text: string }>();
  const say = async (agentId: string, text: string) =>
    context.print(`${paint('bold', await nameOf(agentId))}: ${text}`);
  const finish = async (runId: string) => {
    const line = lines.get(runId);
    lines.delete(runId);
    if (line?.text) await say(line.agentId, line.text);
  };
  for await (const event of events) {
    const { type, runId, agentId, text, tool = '' } = event;
    if (json) context.print(JSON.stringify(event));
    else if (type === 'live_text') {
      const [last = '', ...complete] = `${lines.get(runId)?.text ?? ''}${text}`.split('\n').reverse();
      for (const line of complete.reverse()) await say(agentId, line);
      lines.set(runId, { agentId, text: last });
    } else {
      await finish(runId);
      await say(agentId, paint('dim', type === 'live_tool_call' ? `> ${tool} ${text}` : `< ${text}`));
    }
  }
  for (const runId of [...lines.keys()]) await finish(runId);
}

/** The handle of each agent, asked once. */
function handles(client: Client): (agentId: string) => Promise<string> {
  const known = new Map<string, Promise<string>>();
  return (agentId) => {
    const handle =
      known.get(agentId) ??
      client.getAgent(agentId).then(
        (agent) => agent.handle,
        () => agentId,
      );
    known.set(agentId, handle);
    return handle;
  };
}
