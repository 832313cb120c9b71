import type { Description, Fields } from '../description.ts';
import { olderThan } from '../version.ts';

export const pi = {
  name: 'pi',
  steers: true,
  sessionPaths: ['.pi/agent/sessions'],
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools (shell, files) besides Substrat's. */
    own_tools: z.boolean().default(true),
    /** The directory of the extension pi-mcp-adapter: pi itself cannot use MCP servers. */
    mcp_adapter: z.string().nullable().default(null),
  }),
  login: {
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
  },
  program: {
    command: 'pi',
    install: 'Install it (npm install -g @earendil-works/pi-coding-agent), or set `[providers.pi] command`.',
    versionProblem: olderThan('0.86.0', 'run `npm install -g @earendil-works/pi-coding-agent`'),
  },
} as const satisfies Description;
