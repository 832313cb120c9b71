import { harmless } from '../command-line/terminal.ts';
import type { ConfigReader } from '../config/config-reader.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type Extensions, openExtensions } from '../extensions/extensions.ts';
import { watchFiles } from '../scripting/watch.ts';

/** Opens the configured personas and tools for one command; prints their problems on stderr. */
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
    // Problems while loading are printed below, with the others.
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

/** Starts watching the files and the trust record. */
export function followFiles({ record }: ConfigReader, { watch, personas, tools }: Extensions): { close(): void } {
  watch();
  const watcher = watchFiles(() => {
    void tools.reload();
    void personas.reload();
  });
  watcher.follow(record === null ? [] : [record]);
  return watcher;
}

/** The knowledge base with a counter of calls. */
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
