import type { Config } from '../config/config.ts';
import type { Environment } from '../core/environment.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona } from '../core/persona.ts';
import type { Personas } from '../personas/personas.ts';
import { createRegistry } from '../personas/registry.ts';
import type { ReadScript } from '../scripting/open.ts';
import { openScripting, type Scripting } from '../scripting/scripting.ts';
import { toolsInScope } from '../tools/catalog.ts';
import { type CustomTools, createCustomTools, type ToolDefinition } from '../tools/custom.ts';

/** Personas and tools added by the configuration and by a program that uses the library. */
export interface Extensions {
  readonly scripting: Scripting;
  readonly personas: Personas;
  readonly tools: CustomTools;
  problems(): readonly string[];
  /** Starts watching the files. */
  watch(): void;
  close(): Promise<void>;
}

export interface ExtensionOptions {
  /** Returns the current configuration. If it throws, the previous one stays in effect. */
  readonly read: () => Pick<Config, 'agents' | 'tools' | 'file'>;
  readonly knowledge: Knowledge | undefined;
  readonly env: Environment;
  readonly readScript: ReadScript;
  readonly code?: { readonly personas?: readonly Persona[]; readonly tools?: readonly ToolDefinition[] } | undefined;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

const KNOWLEDGE_TOOLS = ['search', 'get', 'sources'];

export async function openExtensions(options: ExtensionOptions): Promise<Extensions> {
  const { read, knowledge, env, readScript, code = {}, log } = options;
  const scripting = openScripting();
  const ours = [...KNOWLEDGE_TOOLS, ...toolsInScope(null).map(({ name }) => name)];
  const shared = { scripting, env, readScript, knowledge, log };
  try {
    const tools = await createCustomTools({
      ...shared,
      read: () => {
        const { tools: entries, file } = read();
        return { entries, file };
      },
      code: code.tools ?? [],
      reserved: ours,
    });
    const personas = await createRegistry({
      ...shared,
      read: () => {
        const { agents: entries, file } = read();
        return { entries, file };
      },
      code: code.personas ?? [],
      knownTools: () => [...ours, ...tools.list().map(({ name }) => name)],
    });
    return {
      scripting,
      personas,
      tools,
      problems: () => [...new Set([...tools.problems(), ...personas.problems()])],
      watch: () => {
        tools.watch();
        personas.watch();
      },
      close: async () => {
        tools.close();
        personas.close();
        await scripting.close();
      },
    };
  } catch (error) {
    await scripting.close();
    throw error;
  }
}
