import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UsageError } from './context.ts';

type Input = NodeJS.ReadableStream;
type Output = NodeJS.WritableStream;

/** Asks a person. Anything but yes is no: another word, Ctrl-C, the end of the input. */
export async function consents(question: string, input: Input, output: Output): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `, input, output)) ?? '');
}

/** Offers a numbered list; Enter takes the first. Null if the person gave up: Ctrl-C, the end of the input. */
export async function choose(
  question: string,
  options: readonly string[],
  input: Input,
  output: Output,
): Promise<number | null> {
  output.write(`${question}\n`);
  for (const [n, option] of options.entries()) output.write(`  ${n + 1}. ${option}\n`);
  for (;;) {
    const typed = await ask(`[1-${options.length}, Enter for 1] `, input, output);
    if (typed === null) return null;
    const number = typed === '' ? 1 : Number(typed);
    if (Number.isInteger(number) && number >= 1 && number <= options.length) return number - 1;
  }
}

/** Reads a line without showing it. Null if the person gave up. */
export async function askHidden(question: string, input: Input, output: Output): Promise<string | null> {
  output.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const typed = await ask('', input, nowhere);
  output.write('\n');
  return typed;
}

async function ask(prompt: string, input: Input, output: Output): Promise<string | null> {
  const terminal = createInterface({ input, output, terminal: true });
  const ended = new Promise<null>((resolve) => terminal.once('close', () => resolve(null)));
  try {
    return (await Promise.race([terminal.question(prompt), ended]))?.trim() ?? null;
  } catch {
    return null;
  } finally {
    terminal.close();
  }
}

/** Asks the person at the terminal before something is removed; without a terminal, `--yes` is needed. */
export function agreed(question: string): Promise<boolean> {
  if (process.stdin.isTTY && process.stderr.isTTY) return consents(question, process.stdin, process.stderr);
  throw new UsageError('Cannot ask without a terminal. Add --yes.');
}
