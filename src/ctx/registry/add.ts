import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Config, displayName, loadConfig } from '../../config/config.ts';
import { tomlString } from '../../config/toml-text.ts';
import { checkName, keyOf } from '../../core/agent.ts';
import type { Environment } from '../../core/environment.ts';
import { SubstratError } from '../../core/errors.ts';
import { withUserUmask } from '../../core/umask.ts';
import { appendText } from '../config-text.ts';
import { idOf, type Kind } from './extensions.ts';
import { type FoundExtension, scriptFile } from './registries.ts';

interface Around {
  readonly home: string;
  readonly env: Environment;
}

/** Adds the table of a script. Only its path is set: nothing that the registry wrote becomes configuration. */
export async function addExtension(found: FoundExtension, config: Config, around: Around) {
  const { extension, tree, registry } = found;
  const { kind, name, required } = extension;
  const table = `[${kind}.script.${name}]`;
  if (isTaken(kind, name, config)) throw new SubstratError('name_taken', `${table} exists already.`);
  const path = await scriptFile(found, around.home);
  const version = tree.commit === null ? '' : `, commit ${tree.commit}`;
  const lines = [
    '',
    `# ${idOf(extension)} of the registry ${registry.name}${version}`,
    table,
    `path = ${tomlString(path)}`,
    ...required.map((key) => `# ${key} = "…"  (required)`),
    '',
  ];
  const file = config.file ?? resolve('ctx.toml');
  appendText(file, lines.join('\n'), () => checkFile(file, around));
  return { table, file: displayName(file, process.cwd()), path, commit: tree.commit, required };
}

/** Returns the file that was changed. */
export function addRegistry(
  { name, url }: { readonly name: string; readonly url: string },
  config: Config,
  around: Around,
): string {
  checkName(name);
  if (config.registries[name] !== undefined) {
    throw new SubstratError('name_taken', `[registries.${name}] exists already.`);
  }
  const file = config.file ?? resolve('ctx.toml');
  appendText(file, `\n[registries.${name}]\nurl = ${tomlString(url)}\n`, () => checkFile(file, around));
  return displayName(file, process.cwd());
}

/** Copies the script to where `ctx tool init` would create one. */
export async function overrideExtension({ tree, extension }: FoundExtension, cwd: string) {
  const { kind, name } = extension;
  const path = `${kind}/${name}.lua`;
  const file = resolve(cwd, path);
  const conflict = new SubstratError('conflict', `${path} exists already. Nothing was changed.`);
  if (existsSync(file)) throw conflict;
  const source = await tree.read(extension.path);
  withUserUmask(() => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, source, { flag: 'wx' });
  });
  return { path, config: [`[${kind}.script.${name}]`, `path = ${tomlString(path)}`] };
}

function isTaken(kind: Kind, name: string, { agents, tools, connectors }: Config): boolean {
  const taken = {
    agents: agents.map((one) => one.name),
    tools: tools.map((one) => one.name),
    connectors: Object.keys(connectors.script),
  };
  return taken[kind].some((one) => keyOf(one) === keyOf(name));
}

/** Whether it is valid; what it may do is decided when it is used. */
function checkFile(file: string, { home, env }: Around): void {
  loadConfig({ file, cwd: process.cwd(), home, env, unset: 'name' });
}
