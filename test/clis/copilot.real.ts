import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'copilot',
  pinned: { packages: ['@github/copilot@1.0.102'], file: `@github/copilot-linux-${process.arch}/copilot` },
  settings: ({ url, key }) => `env = { COPILOT_PROVIDER_API_KEY = "${key}", COPILOT_PROVIDER_BASE_URL = "${url}/v1" }`,
  shell: { tool: 'bash', argument: 'command', more: { description: 'looks' } },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
});
