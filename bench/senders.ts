import { join } from 'node:path';
import { startDaemon } from './daemon.ts';
import { askLoad, type LoadAnswer, type LoadOptions, type Seat, startProgram } from './load.ts';
import type { Bench } from './measure.ts';

export interface Senders {
  run(calls: number): Promise<LoadAnswer>;
  /** The number of commits of the daemon's store so far; the baseline makes one per call. */
  commits(): Promise<number>;
}

const RECIPIENT = 'lead';

/** The baseline: a bare server with this many clients. */
export async function startBareSenders({ scratch, defer }: Bench, clients: number): Promise<Senders> {
  const path = join(scratch, 'bare.sock');
  const server = await startProgram('bare-server.ts', [path, join(scratch, 'bare.db')]);
  defer(() => server.kill());
  const run = await startClients(defer, Array(clients).fill({ path, agentId: null }));
  let calls = 0;
  return {
    run: async (each) => {
      calls += each * clients;
      return run(each);
    },
    commits: async () => calls,
  };
}

/** Ours: as many `external` agents, children of one lead, each joined through its own socket by one client. */
export async function startAgentSenders({ scratch, defer }: Bench, clients: number): Promise<Senders> {
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  await daemon.client.createAgent({ name: RECIPIENT, provider: 'external' });
  const seats: Seat[] = [];
  for (let n = 1; n <= clients; n += 1) {
    const { id } = await daemon.client.createAgent({ name: `member-${n}`, parent: RECIPIENT });
    seats.push({ path: join(daemon.home, 'agents', id, 'agent.sock'), agentId: id });
  }
  const run = await startClients(defer, seats);
  return { run, commits: async () => (await daemon.client.getStatus()).commits };
}

async function startClients(defer: Bench['defer'], seats: readonly Seat[]): Promise<Senders['run']> {
  const options: LoadOptions = { seats, recipient: RECIPIENT, plain: seats.length > 1 };
  const load = await startProgram('load.ts', [JSON.stringify(options)]);
  defer(() => load.kill());
  return (calls) => askLoad(load, { calls });
}
