import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import type { Arguments } from '../core/question.ts';
import { describeProblems } from '../core/validation.ts';
import { findTool } from './catalog.ts';
import { callKey } from './recorded.ts';
import type { ToolSettings } from './tool.ts';

/** Arguments that a person wrote for an agent's call: validated like the agent's, and the digest of the call. */
export async function readArguments(
  { customTools }: Pick<ToolSettings, 'customTools'>,
  name: string,
  args: unknown,
): Promise<{ args: Arguments; digest: string }> {
  if (name.startsWith('own:')) return readOwn(name, args);
  const tool = findTool(name) ?? (await customTools()).find((one) => one.name === name);
  if (!tool) throw new SubstratError('not_found', `There is no tool ${name}.`);
  const parsed = tool.input.safeParse(args);
  if (!parsed.success) throw new SubstratError('bad_request', `${name}: ${describeProblems(parsed.error)}.`);
  return { args: parsed.data, digest: callKey(name, parsed.data) };
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
