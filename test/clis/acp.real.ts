import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

/** opencode by the Agent Client Protocol, as any other agent of its registry: configured by its own file alone. */
testRealProgram({
  name: 'opencode-acp',
  pinned: { packages: ['opencode-ai@1.18.33'], file: `opencode-linux-${process.arch}/bin/opencode` },
  model: 'mock/mock-model',
  settings: ({ url, key }) => {
    const options = { baseURL: '{env:OPENAI_BASE_URL}', apiKey: '{env:OPENAI_API_KEY}' };
    const config = {
      provider: { mock: { npm: '@ai-sdk/openai-compatible', name: 'mock', options, models: { 'mock-model': {} } } },
      enabled_providers: ['mock'],
      small_model: 'mock/mock-model',
      permission: { '*': 'ask' },
    };
    const env = {
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: `${url}/v1`,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
      ...Object.fromEntries(
        ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [
          `OPENCODE_DISABLE_${name}`,
          '1',
        ]),
      ),
    };
    const pairs = Object.entries(env).map(([name, value]) => `${name} = '${value}'`);
    return `kind = "acp"\nargs = ["acp", "--pure"]\napi = "openai"\nenv = { ${pairs.join(', ')} }`;
  },
  shell: { tool: 'bash', argument: 'command', more: { description: 'looks' } },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
  judged: true,
});
