import { alternate, type Bench, compared, type Row } from './measure.ts';
import { type Senders, startAgentSenders, startBareSenders } from './senders.ts';

const CLIENTS = 32;
const CALLS = 100;
const WARM_UP = 200;

/** Many concurrent clients, each with sequential calls. */
export default async function sendMessage32(bench: Bench): Promise<Row[]> {
  const bare = await startBareSenders(bench, CLIENTS);
  const ours = await startAgentSenders(bench, CLIENTS);
  for (const senders of [bare, ours]) await senders.run(WARM_UP);
  const measured = await alternate(
    () => measure(bare),
    () => measure(ours),
    ({ perSecond }) => perSecond,
  );
  const of = (key: keyof Measured) => compared(measured, (run) => run[key]);
  const name = `send_message, ${CLIENTS} clients`;
  return [
    { name, unit: 'calls/s', ...of('perSecond'), goalOf: 'ratio', atLeast: 1.5 },
    { name: `${name}, calls in a commit`, unit: '', ...of('perCommit'), goalOf: 'result', atLeast: 8 },
    { name: `${name}, their own CPU`, unit: 'cores', ...of('cpu'), goalOf: 'result' },
  ];
}

interface Measured {
  readonly perSecond: number;
  readonly perCommit: number;
  readonly cpu: number;
}

async function measure(senders: Senders): Promise<Measured> {
  const before = await senders.commits();
  const { ms, took, cpu } = await senders.run(CALLS);
  const commits = (await senders.commits()) - before;
  return { perSecond: (took.length / ms) * 1000, perCommit: took.length / commits, cpu };
}
