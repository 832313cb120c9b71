import { resolveHome } from '../config/home.ts';
import { VERSION } from '../core/version.ts';
import { statusOf } from './background.ts';

/** What to do if the running daemon is of another version than this command; null if it is not. */
export async function otherVersion(): Promise<string | null> {
  const running = await statusOf(resolveHome(process.env)).catch(() => null);
  if (running === null || running.version === VERSION) return null;
  return (
    `The daemon is version ${running.version} and this command is version ${VERSION}. ` +
    'Run `substrat daemon stop` and `substrat daemon start`, or restart `substrat up`.'
  );
}
