import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { SubstratError } from '../../core/errors.ts';

export interface Git {
  /** Returns stdout. Throws with stderr, without credentials. */
  run(args: readonly string[]): Promise<string>;
  /** Yields stdout, split at a character. */
  records(args: readonly string[], end: '\n' | '\0'): AsyncIterable<string>;
  spawn(args: readonly string[]): ReturnType<typeof start>;
}

/**
 * Runs git on one bare repository. The remote's URL may contain a password, so it is passed in the environment, never
 * in arguments or in the repository. Nothing is checked out, so nothing from a repository is executed.
 */
export function createGit(directory: string, url: string): Git {
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    SSH_AUTH_SOCK: process.env.SSH_AUTH_SOCK,
    HTTPS_PROXY: process.env.HTTPS_PROXY,
    LC_ALL: 'C',
    GIT_DIR: directory,
    GIT_LITERAL_PATHSPECS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
    // `ext::` and similar protocols execute programs.
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'remote.origin.url',
    GIT_CONFIG_VALUE_0: url,
    GIT_CONFIG_KEY_1: 'gc.auto',
    GIT_CONFIG_VALUE_1: '0',
  };
  const begin = (args: readonly string[]) => start(args, env);
  const fail = (args: readonly string[], said: string) =>
    new SubstratError(
      'unsupported',
      `git ${args[0]} failed: ${hideCredentials(said.trim(), url) || 'no error message'}`,
    );

  return {
    spawn: begin,
    async run(args) {
      const child = begin(args);
      const out: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
      child.stdin.end();
      const { code, said } = await child.ended;
      if (code !== 0) throw fail(args, said);
      return Buffer.concat(out).toString('utf8');
    },
    async *records(args, end) {
      const child = begin(args);
      child.stdin.end();
      try {
        if (end === '\n') yield* createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY });
        else yield* cut(child.stdout);
        const { code, said } = await child.ended;
        if (code !== 0) throw fail(args, said);
      } finally {
        child.kill();
      }
    },
  };
}

function start(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn('git', args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 10_000) said += chunk.toString('utf8');
  });
  child.stdin.on('error', () => {}); // git exited before reading everything; the exit code tells
  const ended = new Promise<{ code: number; said: string }>((resolve) => {
    child.on('error', (error) => resolve({ code: -1, said: `${error.message}; is git installed?` }));
    child.on('close', (code) => resolve({ code: code ?? -1, said }));
  });
  return { stdin: child.stdin, stdout: child.stdout, ended, kill: () => child.kill('SIGKILL') };
}

async function* cut(stream: AsyncIterable<Buffer, unknown>): AsyncIterable<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    let data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let at = data.indexOf(0); at >= 0; at = data.indexOf(0)) {
      yield data.subarray(0, at).toString('utf8');
      data = data.subarray(at + 1);
    }
    rest = data;
  }
  if (rest.length > 0) yield rest.toString('utf8');
}

/** Hides the URL's credentials wherever it occurs in a text. */
function hideCredentials(text: string, url: string): string {
  const shown = url.replace(/^([\w+.-]+:\/\/)[^@/]*@/, '$1');
  return text.replaceAll(url, shown).replace(/([\w+.-]+:\/\/)[^@/\s]*@/g, '$1');
}
