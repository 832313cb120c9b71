import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a home may contain after its daemon has stopped. */
const KEPT = [
  /^(daemon\.lock|daemon\.log|node|store\.json|token|substrat\.db)$/,
  /^agents\/[0-9a-f-]{36}\/mcp\.json$/,
  /^agents\/[0-9a-f-]{36}\/home$/,
  /^agents\/[0-9a-f-]{36}\/cache(\/[^/]+(\/[0-9a-f]+)?)?$/,
  /^(agents|workspaces)(\/[0-9a-f-]{36})?$/,
];

/** Sockets, temporary files and anything else that a stopped daemon should not leave. */
export function filesLeft(directory: string): string[] {
  const inHome = globSync('**', { cwd: join(directory, 'home') }).filter((path) => path !== '.' && path !== '');
  return [
    ...inHome.filter((path) => !KEPT.some((kept) => kept.test(path))),
    ...readdirSync(join(directory, 'tmp')).map((name) => `tmp/${name}`),
  ];
}

/** Every process started for the directory: the daemon, programs and bridges all have it in their environment. */
export function processesLeft(directory: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && read(`/proc/${entry}/environ`).includes(directory))
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`);
}

/** Empty for a zombie and for a process that has exited. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
