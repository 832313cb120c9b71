import { CLAUDE } from './pinned.ts';
import { testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'claude',
  pinned: CLAUDE,
  settings: ({ url, key }) => `env = { CLAUDE_CODE_OAUTH_TOKEN = "${key}", ANTHROPIC_BASE_URL = "${url}" }`,
  shell: { tool: 'Bash', argument: 'command' },
  limit: (resetsAt) => {
    const reset = String(resetsAt.getTime() / 1_000);
    const unified = {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': reset,
      'anthropic-ratelimit-unified-representative-claim': 'seven_day',
      'anthropic-ratelimit-unified-7d-status': 'rejected',
      'anthropic-ratelimit-unified-7d-reset': reset,
      'anthropic-ratelimit-unified-7d-utilization': '1.0',
      'x-should-retry': 'false',
    };
    return { message: 'You have reached your weekly limit.', headers: unified };
  },
  knowsReset: true,
  reportsUsage: true,
  judged: true,
  steers: true,
});
