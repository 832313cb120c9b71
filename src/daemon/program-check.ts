import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire, isBuiltin, stripTypeScriptTypes } from 'node:module';
import { dirname } from 'node:path';
import { SubstratError } from '../core/errors.ts';

/** Refuses a program that cannot run, in one sentence that says why. It is read, never executed. */
export function checkProgram(program: string): void {
  const problem = problemOf(program);
  if (problem !== null) throw new SubstratError('bad_request', `The program ${program} ${problem}`);
}

function problemOf(program: string): string | null {
  const stat = statSync(program, { throwIfNoEntry: false });
  if (!stat) return 'does not exist.';
  if (!stat.isFile()) return 'is not a file.';
  if (!/\.([cm]?js|m?ts)$/.test(program))
    return isExecutable(program) ? null : 'is not executable: run chmod +x on it.';
  const source = readFileSync(program, 'utf8');
  return (/ts$/.test(program) ? syntaxProblem(source) : null) ?? importProblem(program, source);
}

function isExecutable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function syntaxProblem(source: string): string | null {
  try {
    stripTypeScriptTypes(source);
    return null;
  } catch (error) {
    const { message, stack = '' } = error as Error;
    const [, line] = /^[^\n]*:(\d+)\n/.exec(stack) ?? [];
    return `has a syntax error${line ? ` in line ${line}` : ''}: ${message}.`;
  }
}

/** The runner provides `substrat/scripted`; other packages must be installed next to the program. */
function importProblem(program: string, source: string): string | null {
  const require = createRequire(program);
  for (const [, name = ''] of source.matchAll(/^(?:import|export)\b[^'"\n;]*['"]([^'"\n]+)['"]/gm)) {
    if (name.startsWith('substrat/') || isBuiltin(name) || /^(\.{0,2}\/|#|[a-z]+:)/.test(name)) continue;
    const [, parcel = name] = /^((?:@[^/]+\/)?[^/]+)/.exec(name) ?? [];
    const places = require.resolve.paths(parcel) ?? [];
    if (places.some((place) => existsSync(`${place}/${parcel}`))) continue;
    return `imports "${name}", which is not installed: run npm install ${parcel} in ${dirname(program)}.`;
  }
  return null;
}
