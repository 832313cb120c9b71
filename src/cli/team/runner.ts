import type { Client } from '../../client/client.ts';
import { setSecret } from '../../config/secrets.ts';
import { SubstratError } from '../../core/errors.ts';
import { EXTERNAL } from '../../core/provider-names.ts';
import { PROGRAM } from '../demo.ts';
import type { Runner } from './team-file.ts';

/** Asks a person. Null from either means that the person gave up. */
export interface Questions {
  choose(question: string, options: readonly string[]): Promise<number | null>;
  secret(question: string): Promise<string | null>;
}

export interface Choosing {
  readonly client: Pick<Client, 'listProviders'>;
  readonly home: string;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  /** Null: nothing is asked. */
  readonly questions: Questions | null;
  readonly fetchModels?: () => Promise<string[]>;
}

interface Chosen {
  readonly runner: Runner;
  /** A key was stored, which a daemon sees from its next start. */
  readonly newKey: boolean;
  /** Nothing better was found, and nothing could be asked. */
  readonly lastResort?: boolean;
}

const DEMO = 'demo';
const KEYS = [
  { variable: 'ANTHROPIC_API_KEY', who: 'Anthropic', model: 'anthropic/claude-sonnet-5' },
  { variable: 'OPENAI_API_KEY', who: 'OpenAI', model: 'openai/gpt-5.1' },
] as const;
const OLLAMA = 'http://127.0.0.1:11434/api/tags';

/** What executes the team's turns: an installed program, a model, or the demo. Null if the person gave up. */
export async function chooseRunner(choosing: Choosing): Promise<Chosen | null> {
  const { client, home, model = null, questions } = choosing;
  const known = (runner: Omit<Runner, 'program'>): Chosen => ({ runner: { ...runner, program: null }, newKey: false });
  const demo: Chosen = { runner: { provider: 'scripted', model: null, program: PROGRAM }, newKey: false };
  if (choosing.provider === DEMO) return demo;
  const { items } = await client.listProviders();
  if (choosing.provider !== undefined) {
    const one = items.find(({ name }) => name === choosing.provider);
    if (!one) {
      const names = [...items.map(({ name }) => name), DEMO].join(', ');
      throw new SubstratError('not_found', `There is no provider "${choosing.provider}"; there are ${names}.`);
    }
    if (!one.found) throw new SubstratError('bad_request', `${one.name} cannot be used: ${one.problem}`);
    return known({ provider: one.name, model });
  }
  const ready = items.filter(({ name, found, login, problem }) => {
    const ownProgram = name === 'scripted' || name === EXTERNAL;
    return !ownProgram && found && problem === null && login !== 'none';
  });
  const usual = [...ready.filter(({ isDefault }) => isDefault), ...ready.filter(({ isDefault }) => !isDefault)];
  const [first] = usual;
  if (first && (questions === null || usual.length === 1)) return known({ provider: first.name, model });
  if (first && questions) {
    const names = usual.map(({ name, version }) => (version === null ? name : `${name} (${version})`));
    const n = await questions.choose('What runs the agents?', names);
    const chosen = n === null ? undefined : usual[n];
    return chosen ? known({ provider: chosen.name, model }) : null;
  }
  const [local] = await (choosing.fetchModels ?? ollamaModels)();
  if (questions === null) {
    if (local !== undefined) return known({ provider: 'llm', model: `ollama/${local}` });
    return { ...demo, lastResort: true };
  }
  const offers: { readonly text: string; readonly take: () => Promise<Chosen | null> }[] = [
    ...KEYS.map(({ variable, who, model: usualModel }) => ({
      text: `An API key of ${who} (model ${usualModel})`,
      take: async () => {
        const key = await questions.secret(`${variable} (not shown): `);
        if (!key) return null;
        setSecret(home, variable, key);
        return { ...known({ provider: 'llm', model: usualModel }), newKey: true };
      },
    })),
    {
      text:
        local === undefined
          ? 'A local model (start Ollama first: `ollama serve`)'
          : `The local model ${local} of Ollama`,
      take: async () => {
        if (local !== undefined) return known({ provider: 'llm', model: `ollama/${local}` });
        throw new SubstratError(
          'not_found',
          `Ollama does not answer at ${new URL(OLLAMA).host}, or has no model. Run \`ollama pull qwen3\`.`,
        );
      },
    },
    { text: 'The scripted demo: a team without a model', take: async () => demo },
  ];
  const n = await questions.choose(
    'No agent program with a login was found. What runs the agents?',
    offers.map(({ text }) => text),
  );
  return n === null ? null : ((await offers[n]?.take()) ?? null);
}

/** For a person whose team is the demo because nothing else was found. */
export const NOTHING_FOUND = [
  'No agent program with a login was found, so this team is the scripted demo, without a model.',
  'For a real one, run `substrat init` again after one of these; it replaces the demo:',
  '  log in to an agent program (claude, codex, cursor-agent, …)',
  '  substrat secret set ANTHROPIC_API_KEY   and add --provider llm --model anthropic/claude-sonnet-5',
  '  ollama pull qwen3                       and add --provider llm --model ollama/qwen3',
];

async function ollamaModels(): Promise<string[]> {
  try {
    const response = await fetch(OLLAMA, { signal: AbortSignal.timeout(500) });
    const { models } = (await response.json()) as { models?: { name?: unknown }[] };
    return (models ?? []).map(({ name }) => name).filter((name) => typeof name === 'string');
  } catch {
    return [];
  }
}
