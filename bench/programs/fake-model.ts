// A model in a process of its own: calls a tool in each answer but the last of a conversation. Writes its URL to a file.
import { writeFileSync } from 'node:fs';
import type { Mind } from '../../test/fake-model/model.ts';
import { startFakeModel } from '../../test/fake-model/server.ts';

const [file = '', steps = '1'] = process.argv.slice(2);
/** 200 deltas. */
const text = 'x'.repeat(2_400);

const mind: Mind = ({ messages }) => {
  const newest = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(newest + 1).filter(({ role }) => role === 'tool').length;
  return results < Number(steps) - 1 ? { text, calls: [{ name: 'list_agents', arguments: {} }] } : { text };
};

const model = await startFakeModel({ key: 'k', mind });
writeFileSync(file, model.url);
process.once('disconnect', () => process.exit());
process.send?.('ready');
