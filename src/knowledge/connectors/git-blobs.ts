import type { Git } from './git-program.ts';

export interface BlobReader {
  read(id: string): Promise<Buffer>;
  close(): void;
}

/** Reads blobs by id through one git process, in order. */
export function openBlobs(git: Git): BlobReader {
  const child = git.spawn(['cat-file', '--batch']);
  const chunks = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  let held: Buffer = Buffer.alloc(0);
  let last: Promise<unknown> = Promise.resolve();

  const more = async (): Promise<void> => {
    const { value, done } = await chunks.next();
    if (done) throw new Error(`git cat-file ended: ${(await child.ended).said}`);
    held = Buffer.concat([held, value]);
  };
  const take = async (size: number): Promise<Buffer> => {
    if (held.length < size) {
      const parts = [held];
      let length = held.length;
      while (length < size) {
        const { value, done } = await chunks.next();
        if (done) throw new Error(`git cat-file ended: ${(await child.ended).said}`);
        parts.push(value);
        length += value.length;
      }
      held = Buffer.concat(parts);
    }
    const taken = held.subarray(0, size);
    held = held.subarray(size);
    return taken;
  };
  const answer = async (id: string): Promise<Buffer> => {
    child.stdin.write(`${id}\n`);
    while (!held.includes(10)) await more();
    const head = (await take(held.indexOf(10) + 1)).toString('utf8');
    const size = Number(/^\w+ blob (\d+)\n$/.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(size)) throw new Error(`git does not have the blob ${head.trim()}`);
    return (await take(size + 1)).subarray(0, size);
  };

  return {
    read: (id) => {
      const next = last.then(() => answer(id));
      last = next.catch(() => {});
      return next;
    },
    close: () => child.kill(),
  };
}
