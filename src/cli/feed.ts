import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createClient } from '../client/client.ts';
import { playDemo } from './demo.ts';
import { describeEvent, describeNotices, describePlaces, describeSandbox } from './describe.ts';

export interface FeedOptions {
  readonly home: string;
  readonly url: string | null;
  /** Sequence number of the last event before the start. */
  readonly after: number;
  readonly version: string;
  readonly demo: boolean;
  readonly json: boolean;
  readonly print: (line: string) => void;
}

/** In a clone the program is not on the PATH. A package has no lock file. */
const isClone = existsSync(new URL('../../package-lock.json', import.meta.url));
const substrat = isClone ? './bin/substrat' : 'substrat';
const guide = isClone ? 'docs/scripted.md' : fileURLToPath(new URL('../../docs/scripted.md', import.meta.url));
const INTRODUCTION = `Demo: a lead asks two workers, waits without a process, and reports.${isClone ? ' Their program is src/demo/team.ts.' : ''}`;
const WITHOUT_SANDBOX = 'Only the built-in demo runs without a sandbox; other agents do not start.';
const NEXT_STEPS = [
  '',
  'The demo has finished and the daemon is still running. In another terminal, try:',
  `  ${substrat} agent list`,
  `  ${substrat} agent send demo-lead "And now?" --wait`,
  `  ${substrat} watch`,
  `  ${substrat} agent create me --provider external && ${substrat} agent mcp me`,
  `${guide} shows how to write an agent in ten lines. Ctrl-C stops the daemon.`,
];

/** The output of `up`: version, address, home and sandbox, then all events until the daemon stops. */
export async function tellWhatHappens(options: FeedOptions, stopping: AbortSignal): Promise<void> {
  const { home, url, version, demo, json, after } = options;
  const say = json ? () => {} : options.print;
  say(`Substrat ${version} is running at ${url}.`);
  const client = createClient({ home });
  const status = await client.getStatus();
  for (const line of describePlaces(status)) say(line);
  say(describeSandbox(status));
  for (const line of describeNotices(status)) say(line);
  if (demo && status.sandboxProblem !== null) say(WITHOUT_SANDBOX);
  if (url !== null && !json)
    say(
      `Open the page: ${(await client.createLink()).url} (valid once, for 2 minutes; \`substrat page\` prints another)`,
    );
  say(demo ? INTRODUCTION : 'Press Ctrl-C to stop. Run `substrat agent create --help` to create your first agent.');
  const asked = demo ? await playDemo(home) : null;
  for await (const event of client.followEvents({ after, signal: stopping })) {
    const line = json ? JSON.stringify(event) : describeEvent(event);
    if (line !== null) options.print(json ? line : `  ${line}`);
    const answered = event.type === 'message_created' && event.data.message.inReplyTo === asked;
    if (asked && answered) for (const step of NEXT_STEPS) say(step);
  }
  say('Stopping ...');
}
