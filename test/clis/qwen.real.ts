import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'qwen',
  pinned: { packages: ['@qwen-code/qwen-code@0.24.4'], file: '@qwen-code/qwen-code/cli-entry.js' },
  settings: ({ url, key }) => `env = { OPENAI_API_KEY = "${key}", OPENAI_BASE_URL = "${url}/v1" }`,
  shell: { tool: 'run_shell_command', argument: 'command', more: { description: 'looks', is_background: false } },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
  missesDrop: true,
});
