import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const qwen = {
  name: 'qwen',
  sessionPaths: ['.qwen/projects'],
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  login: {
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
  },
  program: {
    command: 'qwen',
    install: 'Install it (npm install -g @qwen-code/qwen-code), or set `[providers.qwen] command`.',
    versionProblem: olderThan('0.24.0', 'run `npm install -g @qwen-code/qwen-code`'),
  },
} as const satisfies Description;
