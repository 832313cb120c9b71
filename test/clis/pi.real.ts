import { dirname, join } from 'node:path';
import { PI } from './pinned.ts';
import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

testRealProgram({
  name: 'pi',
  pinned: PI,
  settings: ({ url, key, command }) =>
    `mcp_adapter = ${JSON.stringify(join(dirname(command), '../pi-mcp-adapter'))}
     env = { OPENAI_API_KEY = "${key}", OPENAI_BASE_URL = "${url}/v1" }`,
  shell: { tool: 'bash', argument: 'command' },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
  steers: true,
});
