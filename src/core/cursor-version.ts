/** The first release of cursor-agent whose command line and events are known to be these. */
const OLDEST = '2026.02.13';

/** Why a cursor-agent with that answer to `--version` cannot be used; null for one that can. */
export function cursorVersionProblem(answer: string): string | null {
  const version = /^\d{4}\.\d{2}\.\d{2}/m.exec(answer)?.[0];
  if (version === undefined) return `It does not tell its version; ${OLDEST} or newer is needed.`;
  if (version < OLDEST) return `It has version ${version}; ${OLDEST} or newer is needed (cursor-agent update).`;
  return null;
}

export const installCursorAgent =
  'Install it (curl https://cursor.com/install -fsS | bash), or name it in [providers.cursor-agent] command.';
