import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CODEX } from './pinned.ts';
import { refusedUntil, testRealProgram } from './real-program.testsuite.ts';

/** Codex without its app server: `exec` takes its place. */
testRealProgram({
  name: 'codex',
  pinned: CODEX,
  altered: (command) => {
    const file = join(dirname(command), 'codex-without-app-server');
    const refusal = `if [ "$1" = app-server ]; then echo "error: unrecognized subcommand 'app-server'" >&2; exit 2; fi`;
    writeFileSync(file, `#!/bin/sh\n${refusal}\nexec ${command} "$@"\n`, { mode: 0o755 });
    return file;
  },
  settings: ({ url, key }) => `env = { OPENAI_API_KEY = "${key}", OPENAI_BASE_URL = "${url}/v1" }`,
  shell: { tool: 'exec_command', argument: 'cmd' },
  limit: refusedUntil,
  knowsReset: true,
  reportsUsage: true,
});
