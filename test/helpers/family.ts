import { createWorld, type WorldOptions, type WorldTurn } from './world.ts';

const TOOLS = ['control', 'send_message', 'check_inbox', 'list_agents', 'inspect_agent', 'remind_me'];

/** A lead that does one thing per message "go" of a person, and its child w. What the lead is told otherwise is noted. */
export async function createFamily(options: WorldOptions = {}) {
  const world = await createWorld(options);
  const lead = await world.create('lead', null, { tools: TOOLS });
  const w = await world.create('w', lead);
  const told: { kind: string; text: string }[] = [];
  const results: unknown[] = [];
  let act: (turn: WorldTurn) => Promise<unknown> = async () => null;
  world.behave('lead', async (turn) => {
    told.push(...turn.messages.filter(({ text }) => text !== 'go').map(({ kind, text }) => ({ kind, text })));
    if (turn.messages.some(({ text }) => text === 'go')) results.push(await act(turn).catch(String));
    return 'done';
  });
  const go = async (what: (turn: WorldTurn) => Promise<unknown>) => {
    act = what;
    await world.ask('lead', 'go');
    await world.settle();
    return results.at(-1);
  };
  /** Lets the lead call a tool. */
  const call = (tool: string, args: object = { agent_name: 'w' }) => go((turn) => turn.call(tool, args));
  return { world, lead, w, told, go, call };
}
