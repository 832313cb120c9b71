import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import type { Arguments } from '../core/question.ts';
import { describeProblems } from '../core/validation.ts';
import type { Store } from '../store/store.ts';
import { findTool } from './catalog.ts';
import { approvalKey, callKey } from './recorded.ts';
import { readReferences } from './references.ts';
import type { ToolSettings } from './tool.ts';

/** Arguments that a person wrote for an agent's call: validated like the agent's, and the digest of the call. */
export async function readArguments(
  { customTools, defaultProvider }: Pick<ToolSettings, 'customTools' | 'defaultProvider'>,
  store: Pick<Store, 'read'>,
  /** Whose call it is: references are resolved for it. */
  agentId: AgentId,
  name: string,
  args: unknown,
): Promise<{ args: Arguments; digest: string }> {
  if (name.startsWith('own:')) return readOwn(name, args);
  const own = findTool(name);
  const tool = own ?? (await customTools()).find((one) => one.name === name);
  if (!tool) throw new SubstratError('not_found', `There is no tool ${name}.`);
  const parsed = tool.input.safeParse(args);
  if (!parsed.success) throw new SubstratError('bad_request', `${name}: ${describeProblems(parsed.error)}.`);
  const { canonical } = await store.read(async (tx) => {
    const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
    return readReferences({ tx, agent, defaultProvider }, parsed.data, own?.refers);
  });
  return { args: parsed.data, digest: approvalKey(tool, canonical) };
}

const command = z.strictObject({
  command: z.string().min(1),
  cwd: z.string().min(1).optional(),
  env: z.record(z.string(), z.unknown()).optional(),
});
const fields = z.record(z.string(), z.unknown());

/** Programs' own tools have no schema here; a shell has the one of `core/own-tool.ts`. */
function readOwn(name: string, args: unknown): { args: Arguments; digest: string } {
  const parsed = (name === 'own:shell' ? command : fields).safeParse(args);
  if (!parsed.success) throw new SubstratError('bad_request', `${name}: ${describeProblems(parsed.error)}.`);
  return { args: parsed.data, digest: callKey(name, parsed.data) };
}
