import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Trap {
  /** Sets the trap in a repository: git then executes the command. */
  readonly set: (repository: string, command: string) => void;
  /** The git command that walks into it. */
  readonly fires: readonly string[];
  /** Git then fails in the sandbox, so the work cannot be pushed. */
  readonly stops?: boolean;
}

const config = (repository: string, text: string) => appendFileSync(join(repository, '.git/config'), `\n${text}\n`);
const quoted = (command: string) => `"${command.replaceAll('"', '\\"')}"`;
const attributes = (repository: string, text: string) => {
  for (const file of ['.gitattributes', '.git/info/attributes']) {
    mkdirSync(dirname(join(repository, file)), { recursive: true });
    writeFileSync(join(repository, file), `${text}\n`);
  }
  writeFileSync(join(repository, 'page'), 'trapped\n');
};
const script = (file: string, command: string) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${command}\nexec cat\n`);
  chmodSync(file, 0o755);
};

/** Settings of a repository that make git execute a program. The names are those of RULES 1. */
export const gitTraps: Readonly<Record<string, Trap>> = {
  'clean filter': {
    set: (repository, command) => {
      attributes(repository, '* filter=x');
      config(repository, `[filter "x"]\nclean = ${quoted(`${command}; cat`)}`);
    },
    fires: ['add', '.'],
  },
  'smudge filter': {
    set: (repository, command) => {
      attributes(repository, '* filter=x');
      config(repository, `[filter "x"]\nsmudge = ${quoted(`${command}; cat`)}`);
    },
    fires: ['checkout', 'HEAD', '--', 'page'],
  },
  'process filter': {
    set: (repository, command) => {
      attributes(repository, '* filter=x');
      config(repository, `[filter "x"]\nprocess = ${quoted(command)}`);
    },
    fires: ['add', '.'],
    stops: true,
  },
  textconv: {
    set: (repository, command) => {
      attributes(repository, '* diff=x');
      config(repository, `[diff "x"]\ntextconv = ${quoted(`${command}; cat`)}`);
    },
    fires: ['diff'],
  },
  'external diff': {
    set: (repository, command) => {
      attributes(repository, '* diff=x');
      config(repository, `[diff]\nexternal = ${quoted(command)}\n[diff "x"]\ncommand = ${quoted(command)}`);
    },
    fires: ['diff'],
  },
  'ext transport': {
    set: (repository, command) =>
      config(
        repository,
        `[protocol "ext"]\nallow = always\n[remote "origin"]\nurl = ${quoted(`ext::sh -c ${command.replaceAll(' ', '% ')}`)}`,
      ),
    fires: ['push', 'origin', 'HEAD'],
  },
  sshCommand: {
    set: (repository, command) =>
      config(repository, `[core]\nsshCommand = ${quoted(command)}\n[remote "origin"]\nurl = ssh://127.0.0.1/x`),
    fires: ['push', 'origin', 'HEAD'],
  },
  'credential helper': {
    set: (repository, command) => {
      script(join(repository, '.git/helper'), command);
      config(repository, `[credential]\nhelper = ${quoted(join(repository, '.git/helper'))}`);
    },
    fires: ['credential', 'fill'],
  },
  fsmonitor: {
    set: (repository, command) => config(repository, `[core]\nfsmonitor = ${quoted(command)}`),
    fires: ['status'],
  },
  hooks: {
    set: (repository, command) => {
      for (const hook of ['pre-commit', 'post-checkout', 'pre-push', 'reference-transaction', 'post-index-change']) {
        script(join(repository, '.git/hooks', hook), command);
      }
    },
    fires: ['update-ref', 'refs/heads/trapped', 'HEAD'],
  },
  hooksPath: {
    set: (repository, command) => {
      for (const hook of ['pre-commit', 'pre-push', 'reference-transaction', 'post-index-change']) {
        script(join(repository, '.git/other', hook), command);
      }
      config(repository, `[core]\nhooksPath = ${quoted(join(repository, '.git/other'))}`);
    },
    fires: ['update-ref', 'refs/heads/trapped', 'HEAD'],
  },
  alias: {
    set: (repository, command) =>
      config(
        repository,
        `[alias]\n${['status', 'add', 'trapped'].map((name) => `${name} = ${quoted(`!${command}`)}`).join('\n')}`,
      ),
    fires: ['trapped'],
  },
  insteadOf: {
    set: (repository, command) => {
      // A push goes to what an address is replaced by.
      const url = `ext::sh -c ${command.replaceAll(' ', '% ')}`;
      const places = ['/', 'file:', 'https:', 'ssh:', '.'].map((start) => `insteadOf = ${start}`).join('\n');
      config(repository, `[protocol "ext"]\nallow = always\n[url ${quoted(`${url} `)}]\n${places}`);
    },
    fires: ['ls-remote', 'https://127.0.0.1/x'],
  },
  'signing program': {
    set: (repository, command) => {
      const program = join(repository, '.git/sign');
      script(program, command);
      config(repository, `[gpg]\nprogram = ${quoted(program)}\n[commit]\ngpgSign = true\n[push]\ngpgSign = true`);
    },
    fires: ['-c', 'user.name=x', '-c', 'user.email=x', 'commit', '--allow-empty', '-m', 'x'],
  },
  'include path': {
    set: (repository, command) => {
      writeFileSync(join(repository, 'included'), `[core]\nfsmonitor = ${quoted(command)}\n`);
      config(repository, '[include]\npath = ../included');
    },
    fires: ['status'],
  },
  alternates: {
    set: (repository, command) => {
      writeFileSync(join(repository, '.git/objects/info/alternates'), `${repository}/none\n`);
      config(repository, `[core]\nalternateRefsCommand = ${quoted(command)}`);
    },
    fires: [],
  },
  'submodule URL': {
    set: (repository, command) => {
      const url = `ext::sh -c ${command.replaceAll(' ', '% ')}`;
      writeFileSync(join(repository, '.gitmodules'), `[submodule "m"]\npath = m\nurl = ${url}\nupdate = !${command}\n`);
      config(
        repository,
        `[protocol "ext"]\nallow = always\n[submodule]\nrecurse = true\n[submodule "m"]\nactive = true\nurl = ${quoted(url)}\nupdate = ${quoted(`!${command}`)}`,
      );
      mkdirSync(join(repository, 'm'));
    },
    fires: [],
    stops: true,
  },
};
