import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { describeProblems } from '../core/validation.ts';
import { type Annotations, READS } from './annotations.ts';
import type { CustomTool, CustomTools } from './custom.ts';
import {
  GET_DESCRIPTION,
  getInput,
  SEARCH_DESCRIPTION,
  SOURCES_DESCRIPTION,
  searchInput,
  sourcesInput,
} from './knowledge.ts';
import { customOutput, getOutput, searchOutput, sourcesOutput } from './results.ts';

/** A tool for HTTP clients that are not agents: seed 004's tools and the scripts of the configuration. */
export interface ServedTool {
  readonly name: string;
  readonly description: string;
  /** A built-in tool. The others return `{result}`, which can be anything. */
  readonly builtin: boolean;
  /** JSON schema of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** JSON schema of what it returns. */
  readonly output: Readonly<Record<string, unknown>>;
  readonly annotations?: Annotations;
  /** Throws a `SubstratError`: `bad_request`, `tool_error`, `timeout` … */
  call(args: unknown): Promise<Readonly<Record<string, unknown>>>;
}

/** The served tools, in order. `more` is called each time, so that tools can change. */
export function createServedTools(
  knowledge: Knowledge,
  more: () => Promise<Pick<CustomTools, 'list' | 'onChange'>>,
): ServedTools {
  const builtin = [
    serve('search', SEARCH_DESCRIPTION, [searchInput, searchOutput], (input) => knowledge.search(input)),
    serve('get', GET_DESCRIPTION, [getInput, getOutput], ({ id }) => knowledge.get(id)),
    serve('sources', SOURCES_DESCRIPTION, [sourcesInput, sourcesOutput], () => knowledge.sources()),
  ];
  return {
    list: async () => [...builtin, ...(await more()).list().map(toServed)],
    onChange: async (listener) => (await more()).onChange(listener),
  };
}

export interface ServedTools {
  list(): Promise<readonly ServedTool[]>;
  onChange(listener: () => void): Promise<() => void>;
}

const CUSTOM_OUTPUT = z.toJSONSchema(customOutput) as Record<string, unknown>;

/** Wraps a custom tool, whose result can be anything. */
function toServed({ name, description, input, call }: CustomTool): ServedTool {
  return {
    name,
    description,
    builtin: false,
    parameters: z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>,
    output: CUSTOM_OUTPUT,
    call: async (args) => ({ result: await call(args) }),
  };
}

function serve<I extends z.ZodObject>(
  name: string,
  description: string,
  [input, output]: readonly [I, z.ZodObject],
  run: (input: z.infer<I>) => Promise<object>,
): ServedTool {
  return {
    name,
    description,
    builtin: true,
    parameters: z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>,
    output: z.toJSONSchema(output) as Record<string, unknown>,
    annotations: READS,
    call: async (args) => {
      const parsed = input.safeParse(args ?? {});
      if (!parsed.success) throw new SubstratError('bad_request', `${describeProblems(parsed.error)}.`);
      return { ...(await run(parsed.data)) };
    },
  };
}
