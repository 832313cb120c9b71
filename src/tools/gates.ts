import * as z from 'zod';
import { gateChild, permitChild, ungateChild } from '../messaging/gates.ts';
import { child, referring } from './references.ts';
import { defineTool, referenceField } from './tool.ts';

const input = z.strictObject({ agent_name: referenceField('Name of your child.') });
const refers = referring({ agent_name: child });

export const gateTool = defineTool({
  name: 'gate',
  description:
    'Keep one of your children from taking turns. Messages to it wait. A turn that has begun goes on. Open the gate with ungate, or let one turn through with permit_turn.',
  input,
  refers,
  effect: true,
  run: async ({ tx, agent, now }, { agent_name: name }) => {
    await gateChild(tx, agent, name, now);
    return { result: { status: 'gated' } };
  },
});

export const ungateTool = defineTool({
  name: 'ungate',
  description: 'Let a gated child take turns again. It starts at once if something waits for it.',
  input,
  refers,
  effect: true,
  run: async ({ tx, agent, now }, { agent_name: name }) => {
    await ungateChild(tx, agent, name, now);
    return { result: { status: 'ungated' } };
  },
});

export const permitTurn = defineTool({
  name: 'permit_turn',
  description: 'Let a gated child take exactly one turn. The gate closes again when the turn begins.',
  input,
  refers,
  effect: true,
  run: async ({ tx, agent, now }, { agent_name: name }) => {
    await permitChild(tx, agent, name, now);
    return { result: { status: 'permitted' } };
  },
});
