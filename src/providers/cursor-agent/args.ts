import type { Turn } from '../provider.ts';
import { promptFile } from './files.ts';

/** Linux limits one argument to 128 KiB; a longer prompt continues in a file. */
const MAX_ARGUMENT = 120_000;

/** The command line of the headless mode, with the prompt last. */
export function turnArguments(
  { force }: { readonly force: boolean },
  turn: Pick<Turn, 'model' | 'prompt' | 'workspace'>,
  session: string | null,
): string[] {
  return [
    ...['--print', '--output-format', 'stream-json', '--stream-partial-output', '--trust', '--approve-mcps'],
    ...(force ? ['--force'] : []),
    ...(turn.model === null ? [] : ['--model', turn.model]),
    ...['--workspace', turn.workspace],
    ...(session === null ? [] : ['--resume', session]),
    isLong(turn.prompt)
      ? `The message of this turn is too long for a command line. It is in the file .cursor/${promptFile} of the workspace. Read the whole file first, then act on it as if it were written here.`
      : asOperand(turn.prompt),
  ];
}

export function isLong(prompt: string): boolean {
  return Buffer.byteLength(prompt) > MAX_ARGUMENT;
}

/** Makes sure that a prompt is parsed neither as a flag nor, as a single word, as a subcommand. */
function asOperand(prompt: string): string {
  const text = prompt.replaceAll('\0', '\ufffd');
  return text.startsWith('-') || !/\s/.test(text) ? `\n${text}` : text;
}
