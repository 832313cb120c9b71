import { fileURLToPath } from 'node:url';
import { createClient } from '../client/client.ts';
import { SubstratError } from '../core/errors.ts';

/** The program of the demo's agents; on a machine without a sandbox only this one may run. */
export const PROGRAM = fileURLToPath(new URL(`../demo/team${import.meta.filename.slice(-3)}`, import.meta.url));
const NAME = 'demo-lead';

/** Gives a small team a task: the lead spawns two workers, asks both and reports. Returns the request's id. */
export async function playDemo(home: string): Promise<string> {
  const client = createClient({ home });
  const creation = {
    name: NAME,
    role: 'lead',
    instructions: 'Ask your two workers about this machine and report.',
    provider: 'scripted',
    program: PROGRAM,
  };
  await client.createAgent(creation).catch((error: unknown) => {
    if (!(error instanceof SubstratError && error.code === 'name_taken')) throw error;
  });
  const { messageId } = await client.sendMessage(NAME, { text: 'What is this machine, and how busy is it?' });
  return messageId;
}
