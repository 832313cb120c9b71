import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const codex = {
  name: 'codex',
  steers: true,
  sessionPaths: ['.codex/sessions'],
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, patches) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  login: {
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    file: { variable: 'CODEX_HOME', directory: '.codex', name: 'auth.json' },
  },
  program: {
    command: 'codex',
    install: 'Install it (npm install -g @openai/codex), or set `[providers.codex] command`.',
    versionProblem: olderThan('0.160.0', 'run `npm install -g @openai/codex`'),
  },
} as const satisfies Description;
