import { hash } from 'node:crypto';
import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { keyOf } from '../core/agent.ts';
import { type KnowledgeContext, knowledgeContext } from '../core/context.ts';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { shorten } from '../core/text.ts';
import { describeProblems } from '../core/validation.ts';
import { follow } from '../scripting/following.ts';
import { openScript, type ReadScript } from '../scripting/open.ts';
import type { Scripting, ScriptLog } from '../scripting/scripting.ts';
import { inputOf, Parameter } from './parameters.ts';

/**
 * A tool from the configuration or from a program's own code. It does not know the agent: it gets its parameters and
 * the knowledge base.
 */
export interface CustomTool {
  readonly name: string;
  readonly description: string;
  readonly source: 'lua' | 'ts';
  readonly input: z.ZodObject;
  /** Of its script and settings. Absent if it is in code, which does not change while the daemon runs. */
  readonly version?: string;
  /** Returns the tool's own value. Throws `bad_request` for invalid parameters, `tool_error`, `timeout`. */
  call(params: unknown, use?: CustomToolUse): Promise<unknown>;
}

export interface CustomToolUse {
  readonly knowledge?: Knowledge | undefined;
}

/** The custom tools in their current version. */
export interface CustomTools {
  list(): readonly CustomTool[];
  /** By its exact name. */
  find(name: string): CustomTool | null;
  problems(): readonly string[];
  onChange(listener: () => void): () => void;
  reload(): Promise<void>;
  watch(): void;
  close(): void;
}

/** A tool in code. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters?: readonly z.input<typeof Parameter>[];
  execute(params: Readonly<Record<string, unknown>>, context: KnowledgeContext): unknown;
}

type ToolEntry = Config['tools'][number];

export interface CustomToolOptions {
  /** Returns the current configuration. If it throws, the previous one stays in effect. */
  readonly read: () => { readonly entries: readonly ToolEntry[]; readonly file: string | null };
  readonly code: readonly ToolDefinition[];
  /** Names that are taken. */
  readonly reserved: readonly string[];
  readonly scripting: Scripting;
  readonly env: Environment;
  readonly readScript: ReadScript;
  readonly knowledge: Knowledge | undefined;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

interface Loaded {
  readonly tool: CustomTool;
  readonly version: string;
}

const LOAD_MS = 10_000;
const TIMEOUT_MS = 30_000;
const Declaration = z.looseObject({
  name: z.string().optional(),
  description: z.string().default(''),
  parameters: z.preprocess((value) => (Object.keys(Object(value)).length === 0 ? [] : value), z.array(Parameter)),
});

export async function createCustomTools(options: CustomToolOptions): Promise<CustomTools> {
  const { read, code, reserved, log } = options;
  const taken = new Set(reserved.map(keyOf));
  for (const { name } of code) {
    if (taken.has(keyOf(name))) throw new SubstratError('name_taken', `A tool named "${name}" exists already.`);
    taken.add(keyOf(name));
  }
  const own = code.map((definition) => fromCode(definition, options));
  const following = await follow({
    read,
    load: async (entry: ToolEntry, last: Loaded | null) => {
      if (!taken.has(keyOf(entry.name))) return loadTool(entry, last, options);
      throw new SubstratError('config', `[tools.script.${entry.name}]: a tool with this name exists already.`);
    },
    report: (problem) => log('error', problem),
  });
  const list = () => [...own, ...following.states().flatMap(({ loaded }) => loaded?.tool ?? [])];
  return {
    list,
    find: (name) => list().find((tool) => tool.name === name) ?? null,
    problems: () => [
      ...(following.broken === null ? [] : [following.broken]),
      ...following.states().flatMap(({ problem }) => problem ?? []),
    ],
    onChange: following.onChange,
    reload: following.reload,
    watch: following.watch,
    close: following.close,
  };
}

async function loadTool(entry: ToolEntry, last: Loaded | null, options: CustomToolOptions): Promise<Loaded> {
  const { scripting } = options;
  const script = await openScript(entry, 'tool', options);
  const version = JSON.stringify([entry, script]);
  if (last?.version === version) return last;
  const declared = await scripting.run({ ...script, timeoutMs: LOAD_MS }, null);
  const parsed = Declaration.safeParse(declared);
  if (!parsed.success) throw new SubstratError('config', `${script.name}: ${describeProblems(parsed.error)}.`);
  if (!(declared as { functions: Record<string, boolean> }).functions.execute) {
    throw new SubstratError('config', `${script.name}: the script does not define the function tool.execute`);
  }
  const { description, parameters } = parsed.data;
  const say: ScriptLog = (level, message) =>
    options.log(level === 'debug' ? 'info' : level, `${entry.name}: ${message}`);
  const tool = toTool({ name: entry.name, description, source: 'lua', parameters }, options, (params, knowledge) =>
    scripting.run(script, {
      method: 'execute',
      args: [params],
      context: { config: entry.config },
      knowledge,
      log: say,
    }),
  );
  return { tool: { ...tool, version: hash('sha256', version, 'base64url') }, version };
}

function fromCode(definition: ToolDefinition, options: CustomToolOptions): CustomTool {
  const { name, description } = definition;
  const parameters = z.array(Parameter).parse(definition.parameters ?? []);
  return toTool({ name, description, source: 'ts', parameters }, options, async (params, knowledge) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new SubstratError('timeout', `${name} timed out after ${TIMEOUT_MS / 1_000} s.`);
      timer = setTimeout(() => reject(error), TIMEOUT_MS);
    });
    const work = async () => definition.execute(params, knowledgeContext(knowledge));
    return Promise.race([work(), late]).finally(() => clearTimeout(timer));
  });
}

function toTool(
  about: Pick<CustomTool, 'name' | 'description' | 'source'> & { readonly parameters: readonly Parameter[] },
  options: Pick<CustomToolOptions, 'knowledge'>,
  execute: (params: Readonly<Record<string, unknown>>, knowledge: Knowledge | undefined) => Promise<unknown>,
): CustomTool {
  const { parameters, ...rest } = about;
  const input = inputOf(parameters);
  return {
    ...rest,
    input,
    async call(params, use = {}) {
      const parsed = input.safeParse(params ?? {});
      if (!parsed.success) {
        throw new SubstratError('bad_request', `${about.name}: ${describeProblems(parsed.error)}.`);
      }
      try {
        return (await execute(parsed.data, use.knowledge ?? options.knowledge)) ?? null;
      } catch (error) {
        if (error instanceof SubstratError && error.code === 'timeout') throw error;
        const message = error instanceof Error ? error.message : String(error);
        throw new SubstratError('tool_error', `${about.name}: ${shorten(message, 2_000)}`, { cause: error });
      }
    },
  };
}
