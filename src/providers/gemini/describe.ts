import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const gemini = {
  name: 'gemini',
  sessionPaths: ['.gemini/tmp'],
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  login: {
    variables: ['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL'],
  },
  program: {
    command: 'gemini',
    install: 'Install it (npm install -g @google/gemini-cli), or set `[providers.gemini] command`.',
    versionProblem: olderThan('0.60.0', 'run `npm install -g @google/gemini-cli`'),
  },
} as const satisfies Description;
