import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

/** Presets of the protocol's registry that can be installed from npm. */
testRealProgram({
  name: 'claude-acp',
  pinned: { packages: ['@agentclientprotocol/claude-agent-acp@0.99.1'], file: '.bin/claude-agent-acp' },
  settings: ({ url, key }) =>
    `kind = "acp"\napi = "anthropic"\nenv = { ANTHROPIC_API_KEY = "${key}", ANTHROPIC_BASE_URL = "${url}", ANTHROPIC_MODEL = "mock-model", ENABLE_TOOL_SEARCH = "false" }`,
  shell: { tool: 'Bash', argument: 'command' },
  limit: refusedUntil,
  knowsReset: true,
  // It also asks the model for titles.
  reportsUsage: false,
});

testRealProgram({
  name: 'codex-acp',
  pinned: { packages: ['@zed-industries/codex-acp@0.16.0'], file: '.bin/codex-acp' },
  settings: ({ url, key }) => {
    const provider = `{name="mock",base_url="http://127.0.0.1:18731/0",env_key="OPENAI_API_KEY",wire_api="responses",request_max_retries=1,stream_max_retries=1}`;
    // Its own sandbox does not work in ours.
    const free = ['sandbox_mode="danger-full-access"', 'approval_policy="never"'];
    const args = ['model_provider="mock"', `model_providers.mock=${provider}`, 'model="mock-model"', ...free];
    return `kind = "acp"\napi = "openai"\nargs = ${JSON.stringify(args.flatMap((one) => ['-c', one]))}\nenv = { OPENAI_API_KEY = "${key}", OPENAI_BASE_URL = "${url}/v1" }`;
  },
  shell: { tool: 'exec_command', argument: 'cmd' },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: false,
  warns: true,
});
