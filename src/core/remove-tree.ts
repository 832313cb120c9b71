import { spawn } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { SubstratError } from './errors.ts';
import { shorten } from './text.ts';

/**
 * Removes a file or a directory with everything in it; no link is followed. An agent can fill a directory with millions of
 * names, or nest directories deeper than a path can be long: Node's `rm` reads all names of a directory at once, which
 * blocks this process, so another process does it.
 */
export async function removeTree(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const removing = spawn('rm', ['-rf', '--', path], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  removing.stderr.setEncoding('utf8').on('data', (text: string) => {
    // It may have something to say about each of a million files.
    if (said.length < 400) said += text;
  });
  const fail = (reason: string) =>
    reject(new SubstratError('internal', `${path} could not be removed: ${shorten(reason.trim(), 400)}`));
  removing.on('error', ({ message }) => fail(message));
  removing.on('close', (code) => (code === 0 ? resolve() : fail(said.split('\n')[0] || `rm ended with ${code}`)));
  return promise;
}
