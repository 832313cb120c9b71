import { Argument, Command } from 'commander';
import { complete, type Values } from './complete.ts';
import type { Context } from './context.ts';

type Shell = 'bash' | 'zsh' | 'fish';

export function completionsCommand(context: Pick<Context, 'print'>, program = 'substrat'): Command {
  return new Command('completions')
    .description('Print a shell completion script.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', `\nExample:\n  eval "$(${program} completions bash)"\n  ${program} completions fish | source`)
    .action((shell: Shell) => context.print(shell === 'fish' ? fish(program) : bash(program, shell)));
}

/** What the scripts call on Tab: prints a candidate a line, with its description behind a tab. */
export function completeCommand(context: Pick<Context, 'print'>, values: Values = async () => []): Command {
  return new Command('complete')
    .argument('[words...]')
    .addHelpText('after', '\nExample:\n  substrat complete -- agent ins')
    .action(async (words: string[], _: unknown, command: Command) => {
      // Without a daemon, only what the command line itself knows.
      const known: Values = (placeholder) => values(placeholder).catch(() => []);
      for (const { word, about } of await complete(command.parent as Command, words, known)) {
        context.print(about === '' ? word : `${word}\t${about.replace(/\s+/g, ' ')}`);
      }
    });
}

function bash(program: string, shell: Shell): string {
  const compatible = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
  return `${compatible}_${program}() {
  local IFS=$'\\n' words
  words="$("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${program} ${program}`;
}

function fish(program: string): string {
  return `function __${program}_complete
  ${program} complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c ${program} -f -a '(__${program}_complete)'
complete -c ${program} -F -n 'not count (__${program}_complete) >/dev/null'`;
}
