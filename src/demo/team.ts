import { availableParallelism, cpus, freemem, loadavg, totalmem } from 'node:os';
import { type AgentContext, runAgent, ToolError } from '../scripted/scripted.ts';

/**
 * The demo's agents: one program with three roles, distinguished by name. Children inherit their parent's program, so
 * the lead needs no other. Nothing runs between turns; the replies so far are in the lead's session.
 */
const workers: Readonly<Record<string, () => string>> = {
  hardware: () => `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${gib(totalmem())} GiB of memory`,
  load: () => `${loadavg()[0]?.toFixed(2)} on average, ${gib(freemem())} GiB of memory free`,
};

await runAgent((turn) => workers[turn.name]?.() ?? lead(turn));

async function lead({ messages, session, call, setSession }: AgentContext): Promise<string> {
  if (messages.some((message) => message.kind === 'request')) {
    for (const name of Object.keys(workers)) {
      await call('spawn_agent', { name, instructions: `Say what you know about the ${name}.` }).catch(alreadyThere);
      await call('send_message', { recipient: name, text: `What can you say about the ${name} of this machine?` });
    }
    setSession('{}');
    return 'I have asked both and wait.';
  }
  const heard: Record<string, string> = JSON.parse(session ?? '{}');
  for (const { from, text } of messages) heard[from] = text;
  setSession(JSON.stringify(heard));
  return Object.entries(heard)
    .map(([from, text]) => `${from}: ${text}`)
    .join('; ');
}

function alreadyThere(error: unknown): void {
  if (!(error instanceof ToolError && error.code === 'name_taken')) throw error;
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}
