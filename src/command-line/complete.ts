import type { Argument, Command, Option } from 'commander';

/** A word that may come next, and what it is. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** The values of a placeholder such as `<ref>` or `<provider>`, which only a program knows. */
export type Values = (placeholder: string) => Promise<readonly Candidate[]>;

/** What may be the last of these words; the words before it are complete. */
export async function complete(root: Command, words: readonly string[], values: Values): Promise<Candidate[]> {
  const { command, option, position } = readWords(root, words.slice(0, -1));
  const last = words.at(-1) ?? '';
  const found = option
    ? await valuesOf(option, option.flags.match(/[<[]([^.>\]]+)/)?.[1] ?? '', values)
    : last.startsWith('-')
      ? optionsOf(command)
      : await operandsOf(command, position, values);
  // Shells expand what they are given: a word with other characters would be run.
  return found.filter(({ word }) => word.startsWith(last) && /^[\w.@/+:-]+$/.test(word));
}

/** Where the next word is: in which command, as the value of which option, or as which argument. */
function readWords(root: Command, words: readonly string[]) {
  let command = root;
  let option: Option | null = null;
  let position = 0;
  for (const word of words) {
    if (option) option = null;
    else if (word.startsWith('-')) option = takesValue(command, word);
    else {
      const below = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (below) command = below;
      else position += 1;
    }
  }
  return { command, option, position };
}

function takesValue(command: Command, word: string): Option | null {
  const known = [command, ...above(command)].flatMap((one) => one.options);
  const found = known.find((option) => option.long === word || option.short === word);
  return found && (found.required || found.optional) ? found : null;
}

function optionsOf(command: Command): Candidate[] {
  const options = [command, ...above(command)].flatMap((one) => one.options).filter((option) => !option.hidden);
  const described = options.map((option) => ({ word: option.long ?? option.short ?? '', about: option.description }));
  return [...described, { word: '--help', about: 'show help' }];
}

async function operandsOf(command: Command, position: number, values: Values): Promise<Candidate[]> {
  const below = position === 0 ? command.createHelp().visibleCommands(command) : [];
  const commands = below.filter((one) => one.name() !== 'help');
  if (commands.length > 0) return commands.map((one) => ({ word: one.name(), about: one.description() }));
  const all = command.registeredArguments;
  const argument = all[position] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
  return argument ? valuesOf(argument, argument.name(), values) : optionsOf(command);
}

async function valuesOf({ argChoices }: Option | Argument, placeholder: string, values: Values) {
  return argChoices ? argChoices.map((word) => ({ word, about: '' })) : [...(await values(placeholder))];
}

function above(command: Command): Command[] {
  return command.parent ? [command.parent, ...above(command.parent)] : [];
}
