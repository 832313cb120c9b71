import { SubstratError } from '../../core/errors.ts';

/** How a model service is asked: Anthropic Messages, OpenAI Responses, or Chat Completions. */
export type ModelDialect = 'anthropic' | 'responses' | 'chat';

/** One model of one service, with what is needed to ask it. */
export interface ChosenModel {
  /** `ENDPOINT/MODEL`. */
  readonly name: string;
  readonly model: string;
  readonly dialect: ModelDialect;
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

export interface EndpointSettings {
  readonly base_url: string | null;
  readonly api_key: string | null;
  readonly dialect: ModelDialect | null;
}

export interface ModelSettings {
  readonly model: string | null;
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly endpoints: Readonly<Record<string, EndpointSettings>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Known {
  readonly dialect: ModelDialect;
  readonly baseUrl: string;
  /** The variable that holds the key; null if no key is needed. */
  readonly variable: string | null;
}

const known: Readonly<Record<string, Known>> = {
  anthropic: { dialect: 'anthropic', baseUrl: 'https://api.anthropic.com/v1', variable: 'ANTHROPIC_API_KEY' },
  openai: { dialect: 'responses', baseUrl: 'https://api.openai.com/v1', variable: 'OPENAI_API_KEY' },
  openrouter: { dialect: 'chat', baseUrl: 'https://openrouter.ai/api/v1', variable: 'OPENROUTER_API_KEY' },
  groq: { dialect: 'chat', baseUrl: 'https://api.groq.com/openai/v1', variable: 'GROQ_API_KEY' },
  mistral: { dialect: 'chat', baseUrl: 'https://api.mistral.ai/v1', variable: 'MISTRAL_API_KEY' },
  deepseek: { dialect: 'chat', baseUrl: 'https://api.deepseek.com/v1', variable: 'DEEPSEEK_API_KEY' },
  ollama: { dialect: 'chat', baseUrl: 'http://127.0.0.1:11434/v1', variable: null },
  lmstudio: { dialect: 'chat', baseUrl: 'http://127.0.0.1:1234/v1', variable: null },
  vllm: { dialect: 'chat', baseUrl: 'http://127.0.0.1:8000/v1', variable: null },
};

const EXAMPLE = 'for example "anthropic/claude-sonnet-5" or "ollama/qwen3"';

/** The model of an agent, or the one of the configuration. Throws a `SubstratError` that says what to set. */
export function chooseModel(settings: ModelSettings, asked: string | null): ChosenModel {
  const name = asked ?? settings.model;
  if (name === null)
    throw problem(`The agent does not have a model. Set --model, or \`[providers.llm] model\`, ${EXAMPLE}.`);
  const [endpoint = '', ...rest] = name.split('/');
  const model = rest.join('/');
  const preset = Object.hasOwn(known, endpoint) ? known[endpoint] : undefined;
  const own = Object.hasOwn(settings.endpoints, endpoint) ? settings.endpoints[endpoint] : undefined;
  if (model === '') throw problem(`The model "${name}" does not name its endpoint: write ENDPOINT/MODEL, ${EXAMPLE}.`);
  // The short form belongs to the endpoint of the configured model: its key must not go to another service.
  const isDefault = settings.model?.startsWith(`${endpoint}/`) ?? false;
  const baseUrl = own?.base_url ?? (isDefault ? settings.baseUrl : null) ?? preset?.baseUrl;
  if (baseUrl === undefined) {
    const names = [...new Set([...Object.keys(known), ...Object.keys(settings.endpoints)])].join(', ');
    throw problem(
      `The model "${name}" is at the endpoint "${endpoint}", which has no URL. Set \`[providers.llm.endpoints.${endpoint}] base_url\`, or use one of: ${names}.`,
    );
  }
  const given = own?.api_key ?? (isDefault ? settings.apiKey : null);
  // A key of the environment is meant for the service itself, not for a URL that somebody put in its place.
  const ofService = preset?.variable && baseUrl === preset.baseUrl ? (settings.env[preset.variable] ?? null) : null;
  const apiKey = given ?? (ofService || null);
  if (apiKey === null && preset?.variable && baseUrl === preset.baseUrl) {
    throw problem(
      `There is no key for ${endpoint}. Set ${preset.variable} in the daemon's environment, or \`[providers.llm.endpoints.${endpoint}] api_key\`.`,
    );
  }
  return { name, model, dialect: own?.dialect ?? preset?.dialect ?? 'chat', baseUrl, apiKey };
}

function problem(message: string): SubstratError {
  return new SubstratError('bad_request', message);
}
