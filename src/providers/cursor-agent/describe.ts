import type { Description, Fields } from '../description.ts';

/** The first release of cursor-agent with this command line and these events. */
const OLDEST = '2026.02.13';

export const cursorAgent = {
  name: 'cursor-agent',
  sessionPaths: ['.cursor/chats'],
  settings: ({ z, program }: Fields) => ({
    ...program,
    /** Its own tools need no approval. */
    force: z.boolean().default(false),
  }),
  login: {
    variables: ['CURSOR_API_KEY'],
    file: { variable: 'XDG_CONFIG_HOME', directory: '.config', name: 'cursor/auth.json' },
  },
  program: {
    command: 'cursor-agent',
    install: 'Install it (curl https://cursor.com/install -fsS | bash), or set `[providers.cursor-agent] command`.',
    versionProblem,
    examine: async (env) => (await import('./permissions.ts')).examinePermissions(env),
  },
  maxTools: 40,
  toolServers: '.cursor/mcp.json',
} as const satisfies Description;

function versionProblem(answer: string): string | null {
  const version = /^\d{4}\.\d{2}\.\d{2}/m.exec(answer)?.[0];
  if (version === undefined) return `It does not report its version; ${OLDEST} or newer is required.`;
  if (version < OLDEST)
    return `It has version ${version}; ${OLDEST} or newer is required (run \`cursor-agent update\`).`;
  return null;
}
