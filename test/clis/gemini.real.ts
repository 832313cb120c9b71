import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'gemini',
  pinned: { packages: ['@google/gemini-cli@0.61.0'], file: '@google/gemini-cli/bundle/gemini.js' },
  settings: ({ url, key }) => `env = { GEMINI_API_KEY = "${key}", GOOGLE_GEMINI_BASE_URL = "${url}" }`,
  shell: { tool: 'run_shell_command', argument: 'command' },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
});
