import { Argument, Command } from 'commander';
import type { Context } from './context.ts';

type Shell = 'bash' | 'zsh' | 'fish';

export function completionsCommand(context: Pick<Context, 'print'>, program = 'substrat'): Command {
  return new Command('completions')
    .description('Print a shell completion script.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', `\nExample:\n  eval "$(${program} completions bash)"\n  ${program} completions fish | source`)
    .action((shell: Shell, _: unknown, command: Command) => {
      const root = command.parent as Command;
      context.print(shell === 'fish' ? fish(root) : bash(root, shell));
    });
}

/** The words that may follow a command: its subcommands and options, by path. */
function wordsAfter(command: Command, path: readonly string[]): [string, string[]][] {
  const options = command.options.flatMap((option) => [option.long, option.short].filter((flag) => flag !== undefined));
  const words = [...command.commands.map((one) => one.name()), ...options, '--help'];
  const below = command.commands.flatMap((one) => wordsAfter(one, [...path, one.name()]));
  return [[path.join(' '), words], ...below];
}

function bash(root: Command, shell: Shell): string {
  const cases = wordsAfter(root, []).map(([path, words]) => `    '${path}') words='${words.join(' ')}' ;;`);
  const compatible = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
  return `${compatible}_${root.name()}() {
  local path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${root.name()} ${root.name()}`;
}

function fish(root: Command): string {
  const completes = `complete -c ${root.name()}`;
  const lines = [`${completes} -f`];
  for (const command of root.commands) {
    const top = "'__fish_use_subcommand'";
    lines.push(`${completes} -n ${top} -a ${command.name()} -d ${quote(command.description())}`);
    const within = `'__fish_seen_subcommand_from ${command.name()}'`;
    for (const below of command.commands) {
      lines.push(`${completes} -n ${within} -a ${below.name()} -d ${quote(below.description())}`);
    }
    for (const option of [command, ...command.commands].flatMap((one) => one.options)) {
      const long = option.long?.slice(2);
      if (long) lines.push(`${completes} -n ${within} -l ${long} -d ${quote(option.description)}`);
    }
  }
  return lines.join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
