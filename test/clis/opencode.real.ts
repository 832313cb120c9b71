import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'opencode',
  pinned: { packages: ['opencode-ai@1.18.33'], file: `opencode-linux-${process.arch}/bin/opencode` },
  settings: ({ url, key }) => `env = { OPENAI_API_KEY = "${key}", OPENAI_BASE_URL = "${url}/v1" }`,
  shell: { tool: 'bash', argument: 'command', more: { description: 'looks' } },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
});
