import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../src/client/client.ts';
import { startDaemon } from './daemon.ts';
import { startProgram } from './load.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';

const CONVERSATIONS = 50;
/** Model calls of a turn; the others call a tool. */
const STEPS = 10;

/**
 * 50 conversations at once, streamed by a fake model in a process of its own: 10 model calls and 9 tool calls each. The
 * baseline is a bare loop with the same client library that writes one durable row per call.
 */
export default async function llm({ scratch, defer }: Bench): Promise<Row[]> {
  const file = join(scratch, 'url');
  const model = await startProgram('fake-model.ts', [file, String(STEPS)]);
  defer(() => model.kill());
  const url = readFileSync(file, 'utf8');
  const bare = await startProgram('bare-llm.ts', [url, join(scratch, 'bare.db'), String(CONVERSATIONS)]);
  defer(() => bare.kill());
  const config = `mode = "none"
[daemon]
slots = ${CONVERSATIONS}
[providers.llm]
model = "fake/m"
workspace_tools = false
[providers.llm.endpoints.fake]
base_url = "${url}/v1"
api_key = "k"
dialect = "anthropic"
`;
  const { client, stop } = await startDaemon(join(scratch, 'home'), {}, config);
  defer(() => stop());
  let created = 0;
  /** New agents each time, so that all conversations have the same length. */
  const ours = async (): Promise<number> => {
    const names = Array.from({ length: CONVERSATIONS }, () => `a${created++}`);
    for (const name of names) await client.createAgent({ name, provider: 'llm' });
    return perSecond(() => Promise.all(names.map((name) => ask(client, name))));
  };
  const yardstick = () =>
    perSecond(async () => {
      const done = once(bare, 'message');
      bare.send('go');
      await done;
    });
  await yardstick();
  await ours();
  const measured = await alternate(yardstick, ours);
  return [
    {
      name: `llm, ${CONVERSATIONS} conversations`,
      unit: 'model calls/s',
      ...compared(measured),
      goalOf: 'ratio',
      atLeast: 0.7,
    },
  ];
}

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return (CONVERSATIONS * STEPS * 1_000) / (performance.now() - begin);
}

async function ask(client: Client, name: string): Promise<void> {
  const { messageId } = await client.sendMessage(name, { text: 'Go.' });
  const reply = await client.awaitReply(messageId, 60);
  if (reply?.kind !== 'reply') throw new Error(`no reply but ${JSON.stringify(reply)}`);
}
