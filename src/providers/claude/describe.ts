import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const claude = {
  name: 'claude',
  steers: true,
  sessionPaths: ['.claude/projects'],
  reportsCost: true,
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
  }),
  login: {
    variables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_BASE_URL'],
    file: { variable: 'CLAUDE_CONFIG_DIR', directory: '.claude', name: '.credentials.json' },
  },
  program: {
    command: 'claude',
    install: 'Install it (npm install -g @anthropic-ai/claude-code), or set `[providers.claude] command`.',
    versionProblem: olderThan('2.1.200', 'run `claude update`'),
  },
} as const satisfies Description;
