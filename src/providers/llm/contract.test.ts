import { afterAll, beforeAll } from 'vitest';
import type { Answer, Mind } from '../../../test/fake-model/model.ts';
import { type FakeModel, startFakeModel } from '../../../test/fake-model/server.ts';
import { testProvider } from '../provider.testsuite.ts';
import { llmDefaults } from './describe.ts';
import { llm } from './llm.ts';

let model: FakeModel;
let failures = 0;

/** Plays the scenario that the model is named for. */
const mind: Mind = ({ model: scenario, messages }): Answer => {
  const prompts = messages.flatMap(({ role, text }) => (role === 'user' ? [text] : []));
  const newest = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(newest + 1).flatMap(({ role, text }) => (role === 'tool' ? [text] : []));
  const call = (name: string, text = '') => ({ text, calls: [{ name, arguments: {} }] });
  const [first = '', last = first] = [prompts[0], prompts.at(-1)];
  switch (scenario) {
    case 'answer':
      if (results.length === 0) return call('think', 'Thinking.');
      return { text: prompts.length === 1 ? `started: ${first}` : `resumed after "${first}": ${last}` };
    case 'tool':
      return results.length === 0 ? call('list_agents') : { text: results.join('') };
    case 'guarded': {
      const run = { name: 'run_command', arguments: { command: 'echo made' } };
      if (results.length === 0) return { text: '', calls: [run] };
      return { text: results.join('').startsWith('made') ? 'allowed' : 'refused' };
    }
    case 'passing':
      failures += 1;
      return failures === 1
        ? { status: 529, message: 'Come back later: try again in 1s.' }
        : { text: 'at the second try' };
    case 'overloaded':
      return { status: 529, message: 'Come back later.' };
    case 'hang':
      return results.length === 0 ? call('think', 'Hanging.') : 'hang';
    default:
      return { status: 400, message: 'No such model.' };
  }
};

beforeAll(async () => {
  model = await startFakeModel({ key: 'k', mind });
});
afterAll(() => model.close());

testProvider({
  name: 'llm',
  judged: true,
  playing: (scenario) => {
    const { idleTimeout: _, ...defaults } = llmDefaults;
    const fake = { base_url: `${model.url}/v1`, api_key: 'k', dialect: 'responses' as const };
    const limits = { maxRetries: 1, idleMs: 10_000 };
    return llm({
      ...defaults,
      ...limits,
      model: `fake/${scenario}`,
      endpoints: { fake },
      env: { PATH: process.env.PATH ?? '' },
    });
  },
  settings: (scenario) =>
    `model = "fake/${scenario}"\nendpoints.fake = { base_url = "${model.url}/v1", api_key = "k", dialect = "anthropic" }`,
});
