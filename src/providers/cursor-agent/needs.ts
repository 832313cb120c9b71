import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind, Needs } from '../../core/command.ts';
import type { Turn } from '../provider.ts';

/** Cursor's API, through which the program reaches all models. */
const hosts = ['api2.cursor.sh', '*.cursor.sh'];

/** What cursor-agent needs in a sandbox: our `.cursor` and the person's login. */
export function cursorNeeds(turn: Turn, env: Readonly<Record<string, string>>, directory: string): Needs {
  const login = join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? '/', '.config'), 'cursor/auth.json');
  const binds: Bind[] = [{ source: directory, target: join(turn.workspace, '.cursor'), mode: 'ro' }];
  if (existsSync(login))
    binds.push({ source: login, target: join(turn.launch.home, '.config/cursor/auth.json'), mode: 'ro' });
  return { binds, hosts };
}
