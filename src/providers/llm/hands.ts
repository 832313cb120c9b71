import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import * as z from 'zod';
import type { BoundTool } from '../../core/bound-tool.ts';
import { SubstratError } from '../../core/errors.ts';
import { cleanText, shorten } from '../../core/text.ts';
import { describeProblems } from '../../core/validation.ts';
import type { Variables } from '../environment.ts';
import { ownCall } from '../own-calls.ts';
import type { Turn } from '../provider.ts';
import { INVALID } from './ask.ts';
import type { Call } from './content.ts';
import { openWorkspace, type Returned } from './workspace.ts';
import { isWorkspaceTool, kindOf, workspaceTools } from './workspace-tools.ts';

/** The tools of a turn: Substrat's in this process, the workspace's in the sandbox. */
export interface Hands {
  readonly tools: readonly LanguageModelV4FunctionTool[];
  /** Whether Substrat executes and records it. */
  isOurs(name: string): boolean;
  call(call: Call): Promise<Returned>;
  close(): Promise<void>;
}

type Schema = LanguageModelV4FunctionTool['inputSchema'];
/** The shapes of built-in tools do not change. */
const schemas = new WeakMap<object, Schema>();

export async function createHands(
  turn: Turn,
  { env, workspaceTools: hasWorkspace }: { readonly env: Variables; readonly workspaceTools: boolean },
): Promise<Hands> {
  const ours = new Map((await turn.tools()).map((tool) => [tool.name, tool]));
  const workspace = openWorkspace(turn, env);
  const theirs = Object.entries(hasWorkspace ? workspaceTools : {}).filter(([name]) => !ours.has(name));
  const tools = [
    ...[...ours.values()].map(({ name, description, inputSchema }) => spec(name, description, schemaOf(inputSchema))),
    ...theirs.map(([name, { description, input }]) => spec(name, description, schemaOf(input.shape))),
  ];

  async function call({ id, name, arguments: args }: Call): Promise<Returned> {
    const fields = fieldsOf(args);
    if (Object.hasOwn(fields, INVALID))
      return failed('The arguments were not a valid JSON object. Nothing was executed.');
    const tool = ours.get(name);
    if (tool) return callOurs(tool, id, fields);
    if (!hasWorkspace || !isWorkspaceTool(name)) return failed(`There is no tool "${shorten(name)}".`);
    const parsed = workspaceTools[name].input.safeParse(fields);
    if (!parsed.success) return failed(`${name}: ${describeProblems(parsed.error)}.`);
    const permission = await turn.guard?.permit(ownCall(kindOf(name), parsed.data, turn.workspace));
    if (permission?.allowed === false) return failed(permission.message);
    try {
      return await workspace.call(name, parsed.data);
    } catch (error) {
      // For example, no sandbox can be created: the model goes on without these tools, and says so.
      if (error instanceof SubstratError && ['unsupported', 'bad_request', 'forbidden'].includes(error.code))
        return failed(error.message);
      throw error;
    }
  }

  return { tools, isOurs: (name) => ours.has(name), call, close: workspace.close };
}

async function callOurs(tool: BoundTool, id: string, args: unknown): Promise<Returned> {
  try {
    const { content, isError = false } = await tool.callAs(id, args);
    return { text: cleanText(content.map(({ text }) => text).join('\n')), isError, images: [] };
  } catch (error) {
    // The tool left the agent's scope during the turn.
    if (error instanceof SubstratError && error.code === 'forbidden') return failed(error.message);
    throw error;
  }
}

function spec(name: string, description: string, inputSchema: Schema): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema };
}

function schemaOf(shape: z.ZodRawShape): Schema {
  const known = schemas.get(shape);
  if (known) return known;
  const { $schema: _, ...schema } = z.toJSONSchema(z.strictObject(shape), { io: 'input' });
  schemas.set(shape, schema as Schema);
  return schema as Schema;
}

function failed(text: string): Returned {
  return { text, isError: true, images: [] };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
