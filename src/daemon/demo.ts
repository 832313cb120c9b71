import { fileURLToPath } from 'node:url';
import { sendAsPerson } from '../messaging/send.ts';
import { addAgent } from './agents.ts';
import type { Daemon } from './daemon.ts';

const PROGRAM = fileURLToPath(new URL(`../demo/team${import.meta.filename.slice(-3)}`, import.meta.url));
const NAME = 'demo-lead';

/** Gives a small team something to do: the lead spawns two workers, asks both and reports. Answers the request's id. */
export async function startDemo(daemon: Daemon): Promise<string> {
  const { store, clock, tools } = daemon;
  const lead =
    (await store.read((tx) => tx.getRootByName({ nameKey: NAME }))) ??
    (await addAgent(daemon, {
      name: NAME,
      parent: null,
      role: 'lead',
      instructions: 'Ask your two workers about this machine and report.',
      provider: 'scripted',
      model: null,
      program: PROGRAM,
      workspace: null,
      tools: null,
    }));
  const question = { text: 'What is this machine, and how busy is it?' };
  return store.write((tx) => sendAsPerson(tx, tools.settings.rules, lead, question, clock()));
}
