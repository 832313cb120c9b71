import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const copilot = {
  name: 'copilot',
  sessionPaths: ['.copilot/session-state'],
  countsNothing: true,
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  login: {
    variables: ['COPILOT_PROVIDER_BASE_URL', 'COPILOT_PROVIDER_API_KEY', 'COPILOT_GITHUB_TOKEN'],
  },
  program: {
    command: 'copilot',
    install: 'Install it (npm install -g @github/copilot), or set `[providers.copilot] command`.',
    versionProblem: olderThan('1.0.100', 'run `npm install -g @github/copilot`'),
  },
} as const satisfies Description;
