import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const opencode = {
  name: 'opencode',
  sessionPaths: [
    '.local/share/opencode/storage',
    '.local/share/opencode/opencode.db',
    '.local/share/opencode/opencode.db-wal',
  ],
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  login: {
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    file: { variable: 'XDG_DATA_HOME', directory: '.local/share', name: 'opencode/auth.json' },
  },
  program: {
    command: 'opencode',
    install: 'Install it (npm install -g opencode-ai), or set `[providers.opencode] command`.',
    versionProblem: olderThan('1.18.0', 'run `npm install -g opencode-ai`'),
  },
} as const satisfies Description;
