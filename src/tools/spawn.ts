import { join } from 'node:path';
import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import { NAME } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { checkLine } from '../core/line.ts';
import { withinScope } from '../core/persona.ts';
import { allows, readChoice, showChoice } from '../core/provider-choice.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Arguments } from '../core/question.ts';
import { createAgent } from '../messaging/tree.ts';
import { scopeNow } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import { makeSubdirectory } from '../workspaces/directories.ts';
import { ownDirectory } from '../workspaces/reach.ts';
import { inside, name, referring, type Scene } from './references.ts';
import { defineTool, referenceField, textField } from './tool.ts';

/** The store rejects NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is meant.
const argumentField = z.string().regex(/^[^\x00]*$/, 'must not contain NUL characters');

export const spawnAgent = defineTool({
  name: 'spawn_agent',
  description:
    'Create a subagent as your child. It does not run until you send it a message; messages you send right away wait until it is ready.',
  input: z.strictObject({
    name: z
      .string()
      .regex(NAME, 'must have 1 to 64 letters, digits, "_" or "-", the first a letter or a digit')
      .describe('Name, unique among your parent, siblings and children: letters, digits, "_" and "-".'),
    instructions: textField('Instructions for the agent.'),
    role: z.enum(['worker', 'reviewer']).default('worker').describe('Role of the agent in the team.'),
    workspace_subdir: z
      .string()
      .max(500)
      .nullable()
      .optional()
      .describe('Subdirectory of your workspace for the agent to work in. Default: it shares your workspace.'),
    provider: referenceField('Provider that runs the agent, if the person lets you choose it. Default: yours.')
      .max(64)
      .optional(),
    model: textField('Model of the agent, if the person lets you choose it. Default: yours, if it has your provider.')
      .max(200)
      .optional(),
    persona: referenceField(
      'Configured persona to create the agent from: its instructions, and those of its tools that you have too.',
    )
      .max(64)
      .optional(),
    arguments: z
      .record(argumentField.max(64), argumentField.max(10_000))
      .refine((given) => Object.keys(given).length <= 50, 'must have at most 50 arguments')
      .optional()
      .describe('Arguments of the persona, by name.'),
  }),
  refers: async (scene, input) => ({
    ...(await referring({ name, persona: name, workspace_subdir: inside })(scene, input)),
    ...(await engineMeant(scene, input)),
  }),
  effect: true,
  prepare: async ({ agent: parent, store, settings }, { workspace_subdir }) => {
    if (!workspace_subdir) return undefined;
    checkLine('The subdirectory', workspace_subdir);
    const directory = await store.read((tx) => ownDirectory(tx, settings.workspaces, parent));
    return makeSubdirectory(directory, workspace_subdir);
  },
  look: async ({ settings }, input) => {
    const persona = choiceOf(input);
    return { custom: await settings.customTools(), declared: persona && (await settings.findPersona(persona)) };
  },
  run: async ({ tx, agent, attempt, settings, now, looked: { custom, declared } }, input) => {
    // A persona's restriction of this run also applies to its children.
    const parent = { ...agent, tools: await scopeNow(tx, attempt) };
    const persona = choiceOf(input);
    const heir = await heirOf(tx, parent, input, settings.defaultProvider);
    const child = await createAgent(
      tx,
      settings.limits,
      {
        name: input.name,
        parent,
        role: input.role,
        instructions: input.instructions,
        ...heir,
        workspace: input.workspace_subdir ? join(parent.workspace, input.workspace_subdir) : parent.workspace,
        workspaceId: parent.workspaceId,
        tools: declared ? withinScope(declared.tools, parent.tools) : null,
        persona: persona && { ...persona, name: declared?.name ?? persona.name },
        nodeId: parent.nodeId,
        // An external agent's run is open-ended and never retried, so its children need not wait for its end.
        spawnedBy: attempt.external ? null : attempt.runId,
      },
      now,
    );
    await settings.checkTools(child, custom);
    await settings.checkEnforced(tx, child);
    const result = { status: 'created', agent_id: child.id, name: child.name, ...noteOn(child) };
    return { result, created: child };
  },
});

function choiceOf(input: { persona?: string | undefined; arguments?: Record<string, string> | undefined }) {
  if (input.persona !== undefined) return { name: input.persona, arguments: input.arguments ?? {} };
  if (input.arguments === undefined) return undefined;
  throw new SubstratError('bad_request', 'spawn_agent: `arguments` needs `persona`.');
}

/** Of what is left out, the default is meant. */
async function engineMeant({ tx, agent, defaultProvider }: Scene, input: Arguments) {
  const { provider, model } = (await choose(tx, agent, input, inheritance(agent, defaultProvider))).choice;
  const meant = (value: string | null) => ({ spellings: value === null ? [] : [value], canonical: value ?? '' });
  return { provider: meant(provider), model: meant(model) };
}

interface Engine {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

/**
 * What runs the child; by default what runs the parent. Anything else must be in the nearest list of
 * `may_spawn` and in those above it: a child never gets more than its parent's parent allows.
 */
async function heirOf(tx: Tx, parent: Agent, asked: Engine, defaultProvider: string | null) {
  const heir = inheritance(parent, defaultProvider);
  if (asked.provider === undefined && asked.model === undefined) return heir;
  const { same, lists, choice } = await choose(tx, parent, asked, heir);
  const inherits = same && choice.model === heir.model;
  if (!inherits && !(lists.length > 0 && lists.every((list) => allows(list, choice)))) {
    const allowed = [showChoice(heir), ...(lists[0] ?? [])].join(', ');
    throw new SubstratError(
      'forbidden',
      `You may not spawn an agent with ${showChoice(choice)}. You may use: ${allowed}. A person can allow more with \`may_spawn\`.`,
    );
  }
  return { ...choice, program: same ? heir.program : null };
}

async function choose(tx: Tx, parent: Agent, asked: Engine, heir: Pick<Agent, 'provider' | 'model'>) {
  const above = await tx.agents.listAncestors({ id: parent.id });
  const lists = [parent, ...above].flatMap(({ maySpawn }) => (maySpawn === null ? [] : [maySpawn]));
  const provider = asked.provider ?? heir.provider;
  const same = provider === heir.provider;
  const usual = (lists[0] ?? []).map(readChoice).find((one) => one.provider === provider)?.model ?? null;
  const choice = { provider, model: asked.model ?? (same ? heir.model : usual) };
  return { same, lists, choice };
}

/** Inherits provider, model and program; falls back to the default provider if the parent's cannot run here. */
function inheritance(parent: Agent, defaultProvider: string | null) {
  const { provider, model, program } = parent;
  if (provider !== EXTERNAL || defaultProvider === null) return { provider, model, program };
  return { provider: defaultProvider, model: null, program };
}

/** Tells the parent about a child that nothing runs. */
function noteOn(child: Agent) {
  if (child.provider !== EXTERNAL) return {};
  return {
    note: `${child.name} does not run yet. It is an external agent like you because \`[daemon] default_provider\` is not set. Its messages wait until a person joins it with \`substrat agent mcp ${child.handle}\`.`,
  };
}
