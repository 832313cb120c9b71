import { spawnSync } from 'node:child_process';
import { acpProviders, type Config } from '../config/config.ts';
import { acpStart, described, type InstalledProgram } from '../providers/described.ts';
import type { Finding } from './finding.ts';

/**
 * The programs of the providers that need one installed. Those that are missing and that neither the configuration
 * nor an agent names share one finding.
 */
export async function examinePrograms(config: Config | null, used: readonly string[]): Promise<Finding[]> {
  const settings = config?.providers;
  const named = new Set([
    ...used,
    ...Object.keys(settings ?? {}),
    ...Object.values(config?.members ?? {}).map(({ provider }) => provider),
    config?.daemon.defaultProvider,
  ]);
  const programs = described.filter((about) => 'program' in about);
  const here = programs.filter((about) => named.has(about.name) || pathOf(about.program.command) !== null);
  const missing = programs.filter((about) => !here.includes(about)).map(({ name }) => name);
  const acp = acpProviders(settings ?? {}).map(([name, given]) => acpProgram(name, acpStart(name, given)?.command));
  return [
    ...(await Promise.all(here.map(({ name, program }) => examineProgram(name, program, settings?.[name] ?? {})))),
    ...acp,
    ...(missing.length === 0 ? [] : [othersMissing(missing, missing.length === programs.length)]),
  ];
}

function othersMissing(names: readonly string[], all: boolean): Finding {
  return {
    what: 'agent programs',
    state: all ? 'warning' : 'ok',
    detail: `not installed: ${names.join(', ')}`,
    mend: 'Agents can also use a model (`--provider llm`) or a script. `substrat provider list` says how to install each.',
  };
}

/** Whether it is installed; these programs have no common way to ask for a version. */
function acpProgram(what: string, command = what): Finding {
  const path = pathOf(command);
  if (path !== null) return { what, state: 'ok', detail: `${path}, by the Agent Client Protocol` };
  const detail = `${command} is not installed; agents that use it cannot run`;
  return { what, state: 'warning', detail, mend: `Install it, or set \`[providers.${what}] command\`.` };
}

async function examineProgram(
  what: string,
  about: InstalledProgram,
  settings: { command?: string | null; args?: readonly string[]; env?: Readonly<Record<string, string>> },
): Promise<Finding> {
  const command = settings.command ?? about.command;
  const args = [...(settings.args ?? []), '--version'];
  const { error, status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 });
  if ((error as NodeJS.ErrnoException)?.code === 'ENOENT') {
    const detail = `${command} is not installed; agents that use it cannot run`;
    return { what, state: 'warning', detail, mend: about.install };
  }
  const problem =
    status === 0
      ? (about.versionProblem?.(stdout) ?? null)
      : `\`--version\` failed: ${error?.message ?? 'non-zero exit code'}.`;
  if (problem !== null) return { what, state: 'problem', detail: `${command}: ${problem}`, mend: about.install };
  const caution = await about.examine?.({ ...process.env, ...settings.env });
  if (caution) return { what, state: 'warning', ...caution };
  return { what, state: 'ok', detail: `${command}, version ${stdout.trim()}` };
}

function pathOf(command: string): string | null {
  const { status, stdout } = spawnSync('sh', ['-c', 'command -v -- "$0"', command], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
