import { alternate, type Bench, compared, median, percentile, type Row } from './measure.ts';
import { startAgentSenders, startBareSenders } from './senders.ts';

const CALLS = 600;
const WARM_UP = 300;

/** One client with sequential calls. */
export default async function sendMessage(bench: Bench): Promise<Row[]> {
  const bare = await startBareSenders(bench, 1);
  const ours = await startAgentSenders(bench, 1);
  for (const senders of [bare, ours]) await senders.run(WARM_UP);
  const measured = await alternate(
    () => bare.run(CALLS),
    () => ours.run(CALLS),
    ({ took }) => median(took),
  );
  const of = (percent: number) => ({
    unit: 'ms',
    ...compared(measured, ({ took }) => percentile(took, percent)),
    goalOf: 'ratio' as const,
  });
  return [
    { name: 'send_message, 1 client, p50', ...of(50), atMost: 1.5 },
    { name: 'send_message, 1 client, p99', ...of(99) },
  ];
}
