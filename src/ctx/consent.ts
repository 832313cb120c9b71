import { createInterface } from 'node:readline/promises';

/** Asks a person. Anything but yes is no: another word, Ctrl-C, the end of the input. */
export async function consents(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<boolean> {
  const terminal = createInterface({ input, output, terminal: true });
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    return /^y(es)?$/i.test((await Promise.race([terminal.question(`${question} [y/N] `), ended])).trim());
  } catch {
    return false;
  } finally {
    terminal.close();
  }
}
