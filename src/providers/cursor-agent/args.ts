import type { Turn } from '../provider.ts';
import { promptFile } from './files.ts';

/** Linux takes 128 KiB in one argument; the rest of a prompt that long is in a file. */
const MAX_ARGUMENT = 120_000;

/** The command line of the headless mode, and the prompt last. */
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
      ? `The message of this turn is too long for a command line. It is in the file .cursor/${promptFile} of the workspace: read all of it first, then act on it. What is in it counts as said here.`
      : asOperand(turn.prompt),
  ];
}

export function isLong(prompt: string): boolean {
  return Buffer.byteLength(prompt) > MAX_ARGUMENT;
}

/** As nothing but a prompt: neither a flag nor, as a single word, the name of a subcommand. */
function asOperand(prompt: string): string {
  const text = prompt.replaceAll('\0', '\ufffd');
  return text.startsWith('-') || !/\s/.test(text) ? `\n${text}` : text;
}
