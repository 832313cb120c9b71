import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const claude = {
  name: 'claude',
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  program: {
    command: 'claude',
    install: 'Install it (npm install -g @anthropic-ai/claude-code), or set `[providers.claude] command`.',
    versionProblem: olderThan('2.1.200', 'run `claude update`'),
  },
} as const satisfies Description;
