import { testRealProgram } from './real-program.testsuite.ts';

const platform = process.arch === 'arm64' ? 'aarch64-unknown-linux-musl' : 'x86_64-unknown-linux-musl';

testRealProgram({
  name: 'codex',
  pinned: {
    packages: ['@openai/codex@0.166.0'],
    file: `@openai/codex-linux-${process.arch}/vendor/${platform}/bin/codex`,
  },
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
});
