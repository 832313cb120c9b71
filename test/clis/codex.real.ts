import { CODEX } from './pinned.ts';
import { testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'codex',
  pinned: CODEX,
  settings: ({ url, key }) => `env = { OPENAI_API_KEY = "${key}", OPENAI_BASE_URL = "${url}/v1" }`,
  shell: { tool: 'exec_command', argument: 'cmd' },
  limit: (resetsAt) => {
    const seconds = resetsAt.getTime() / 1_000;
    const headers = {
      'x-codex-primary-used-percent': '100',
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-at': String(seconds),
    };
    const error = { type: 'usage_limit_reached', plan_type: 'plus', resets_at: seconds };
    return { message: 'The usage limit has been reached', headers, error };
  },
  knowsReset: true,
  reportsUsage: true,
  judged: true,
  steers: true,
});
