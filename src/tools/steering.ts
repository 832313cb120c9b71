import * as z from 'zod';
import { LONGEST_KEY, LONGEST_VALUE } from '../core/metadata.ts';
import { noteAboutChild, terminateChild } from '../messaging/children.ts';
import { pokeChild } from '../messaging/pokes.ts';
import { child, referring } from './references.ts';
import { defineTool, referenceField } from './tool.ts';

const ofChild = { agent_name: referenceField('Name of your child.') };
const refers = referring({ agent_name: child });

export const terminateAgentTool = defineTool({
  name: 'terminate_agent',
  description:
    'Terminate one of your children and all agents below it, for good. Turns in progress end. Requests of yours that they have not answered are closed and listed in the result; no reply arrives for them.',
  input: z.strictObject(ofChild),
  refers,
  effect: true,
  annotations: { destructiveHint: true },
  run: async ({ tx, agent, now }, { agent_name: name }) => {
    const { ended, fenced, closed } = await terminateChild(tx, agent, name, now);
    const agents = ended.map((one) => one.name);
    return { result: { status: 'terminated', agents, closed_requests: closed }, terminated: { agents: ended, fenced } };
  },
});

export const poke = defineTool({
  name: 'poke',
  description:
    'Try the last turn of one of your children again, if it has failed. It gets the same messages; calls that it made already are not made twice. The reply arrives as a late reply. A turn can be poked 3 times.',
  input: z.strictObject(ofChild),
  refers,
  effect: true,
  run: async ({ tx, agent, settings, now }, { agent_name: name }) => {
    const run = await pokeChild(tx, settings.rules, agent, name, now);
    return { result: { status: 'poked', run } };
  },
});

export const setAgentMetadata = defineTool({
  name: 'set_agent_metadata',
  description:
    'Note something about one of your children: a key and a short value, one line each, or null to remove the key. list_agents and inspect_agent show it, and the child reads it in its prompt as your words.',
  input: z.strictObject({
    ...ofChild,
    key: z.string().min(1).max(LONGEST_KEY).describe('Such as "task" or "reviewed".'),
    value: z.string().max(LONGEST_VALUE).nullable().describe('Null removes the key.'),
  }),
  refers,
  effect: true,
  run: async ({ tx, agent, now }, { agent_name: name, key, value }) => {
    await noteAboutChild(tx, agent, { name, key, value }, now);
    return { result: { status: value === null ? 'removed' : 'set' } };
  },
});
