import { harmless } from '../command-line/terminal.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type Extensions, openExtensions } from '../extensions/extensions.ts';
import { watchFiles } from '../scripting/watch.ts';
import type { ConfigReader } from './config-reader.ts';

/** Opens the personas and tools of the configuration for one command; what is wrong with them is said on stderr. */
export async function withExtensions<T>(
  reader: ConfigReader,
  knowledge: Knowledge | undefined,
  work: (extensions: Extensions) => Promise<T>,
): Promise<T> {
  let opened = false;
  const extensions = await openExtensions({
    read: reader.load,
    readScript: reader.readScript,
    knowledge,
    env: process.env,
    // What does not load is told below, with the rest.
    log: (level, message) => void (opened && process.stderr.write(`${level}: ${harmless(message)}\n`)),
  });
  opened = true;
  try {
    for (const problem of extensions.problems()) process.stderr.write(`warning: ${harmless(problem)}\n`);
    return await work(extensions);
  } finally {
    await extensions.close();
  }
}

/** Follows the files from now on, and what the person trusts. */
export function followFiles({ record }: ConfigReader, { watch, personas, tools }: Extensions): { close(): void } {
  watch();
  const watcher = watchFiles(() => {
    void tools.reload();
    void personas.reload();
  });
  watcher.follow(record === null ? [] : [record]);
  return watcher;
}

/** The knowledge base, and how often it was asked. */
export function counted(knowledge: Knowledge): { knowledge: Knowledge; searches: () => number; gets: () => number } {
  let searches = 0;
  let gets = 0;
  return {
    knowledge: {
      search: (request) => {
        searches += 1;
        return knowledge.search(request);
      },
      get: (id) => {
        gets += 1;
        return knowledge.get(id);
      },
      sources: () => knowledge.sources(),
    },
    searches: () => searches,
    gets: () => gets,
  };
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
