import * as z from 'zod';
import { readTransition } from '../core/subscription.ts';
import { subscribe, unsubscribe } from '../messaging/subscriptions.ts';
import { neighbour, referring } from './references.ts';
import { defineTool, referenceField } from './tool.ts';

export const subscribeTool = defineTool({
  name: 'subscribe',
  description:
    'Get a notice "[state] NAME: FROM -> TO" when the state of your parent, a child or a sibling changes. It starts a turn if you are idle, so end your turn instead of waiting. A subscription lasts until you unsubscribe or the agent is terminated.',
  externalDescription:
    'Get a notice "[state] NAME: FROM -> TO" when the state of your parent, a child or a sibling changes. Read it with check_inbox. A subscription lasts until you unsubscribe or the agent is terminated.',
  input: z.strictObject({
    agent_name: referenceField('Name of your parent, a child or a sibling.'),
    transition: z
      .string()
      .max(40)
      .describe('Such as "busy->idle". States: idle, busy, waiting, terminated; "*" is any state.'),
    once: z.boolean().default(false).describe('End the subscription with its first notice.'),
  }),
  refers: referring({ agent_name: neighbour }),
  effect: true,
  run: async ({ tx, agent, run, now }, { agent_name: name, transition, once }) => {
    const id = await subscribe(tx, { agent, run }, { name, once, ...readTransition(transition) }, now);
    return { result: { subscription_id: id, status: 'active' } };
  },
});

export const unsubscribeTool = defineTool({
  name: 'unsubscribe',
  description: 'End a subscription that you made with subscribe.',
  input: z.strictObject({ subscription_id: referenceField('The id that subscribe returned.') }),
  effect: true,
  run: async ({ tx, agent }, { subscription_id: id }) => {
    await unsubscribe(tx, agent, id);
    return { result: { status: 'unsubscribed' } };
  },
});
