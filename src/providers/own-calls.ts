import { resolve } from 'node:path';
import type { OwnCall, OwnKind } from '../core/own-tool.ts';

/** What programs call the argument with the path. */
const PATHS = ['path', 'file_path', 'filePath', 'filepath', 'notebook_path', 'absolute_path', 'abs_path'];
const COMMANDS = ['command', 'cmd', 'script'];
const DIRECTORIES = ['cwd', 'workdir', 'directory'];
const VARIABLES = ['env', 'environment'];

/** A program's call in the words of policies: the same action has the same arguments, whatever program wants it. */
export function ownCall(kind: OwnKind, given: unknown, workspace: string): OwnCall {
  const fields: Record<string, unknown> = isObject(given) ? { ...given } : {};
  if (kind === 'other') return { kind, input: fields };
  const read = (one: Fields) => (kind === 'shell' ? withCommand(one, workspace) : withPath(one, workspace));
  // Nobody knows which of them the program uses: the person sees all, and the strictest verdict on each holds.
  const ambiguous = variants(fields, kind === 'shell' ? COMMANDS : PATHS);
  if (ambiguous.length > 1) return { kind, input: fields, parts: ambiguous.map(read) };
  return { kind, input: read(fields) };
}

type Fields = Record<string, unknown>;

/** The fields with each of the different values that these names have. */
function variants(fields: Fields, names: readonly string[]): Fields[] {
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
  const given = names.filter((name) => fields[name] !== undefined && fields[name] !== null);
  const values = new Map(given.map((name) => [JSON.stringify(fields[name]), fields[name]]));
  return [...values.values()].map((value) => ({ ...rest, [names[0] as string]: value }));
}

/** A change of several files. */
export function ownChanges(changes: readonly unknown[], workspace: string): OwnCall {
  const parts = changes.map((change) => withPath(isObject(change) ? { ...change } : {}, workspace));
  const [only] = parts;
  return parts.length === 1 && only
    ? { kind: 'write', input: only }
    : { kind: 'write', input: { changes: parts }, parts };
}

/** A call that does not say its command keeps all fields, and no `command`. */
function withCommand(fields: Fields, workspace: string): Fields {
  const command = commandOf(first(fields, COMMANDS));
  if (command === null) return { given: fields };
  const cwd = first(fields, DIRECTORIES);
  const place = typeof cwd === 'string' ? resolve(workspace, cwd) : workspace;
  const env = first(fields, VARIABLES);
  return {
    command,
    ...(place !== resolve(workspace) && { cwd: place }),
    ...(isObject(env) && Object.keys(env).length > 0 && { env }),
  };
}

function withPath(fields: Fields, workspace: string): Fields {
  const path = first(fields, PATHS);
  if (typeof path !== 'string') return fields;
  const rest = Object.entries(fields).filter(([name]) => !PATHS.includes(name));
  return { path: resolve(workspace, path), ...Object.fromEntries(rest) };
}

function first(fields: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  return fields[names.find((name) => fields[name] !== undefined && fields[name] !== null) ?? ''];
}

/** Where the system has it: an agent can write a program of that name elsewhere. */
const SHELL = /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|da|z)?sh$/;

/** The command itself, where the program shows the shell that would execute it: `bash -lc 'npm test'` is `npm test`. */
function commandOf(given: unknown): string | null {
  if (Array.isArray(given)) return given.every(isText) ? unwrapped(given) : null;
  if (typeof given !== 'string') return null;
  const words = splitWords(given);
  return words && isWrapped(words) ? unwrapped(words) : given;
}

function unwrapped(words: readonly string[]): string {
  return isWrapped(words) ? (words[2] as string) : words.map(quoted).join(' ');
}

function isWrapped([shell = '', flag = '', ...rest]: readonly string[]): boolean {
  return SHELL.test(shell) && /^-l?c$/.test(flag) && rest.length === 1;
}

function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A line break ends a command, and after a backslash it disappears. */
const WORD = /[ \t]*((?:'[^']*'|"(?:[^"\\$`]|\\[^\n])*"|\\[^\n]|[^\s'"\\$`|&;<>(){}*?[\]#~])+)(?=[ \t]|$)/suy;
const PART = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)/gsu;

/** The words of a simple command; null if a shell would do more with it than split it. */
function splitWords(command: string): string[] | null {
  const words: string[] = [];
  WORD.lastIndex = 0;
  while (WORD.lastIndex < command.length) {
    const at = WORD.lastIndex;
    const word = WORD.exec(command)?.[1];
    if (word === undefined) return command.slice(at).trim() === '' ? words : null;
    words.push(
      word.replace(PART, (_, single?: string, double?: string, escaped?: string, plain?: string) => {
        return single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '';
      }),
    );
  }
  return words;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
