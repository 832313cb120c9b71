import { NAME } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona, PersonaPrompt } from '../core/persona.ts';
import type { GivenItem } from '../knowledge/connectors/script.ts';
import type { SyncCounts } from '../knowledge/sync.ts';
import type { Personas } from '../personas/personas.ts';
import type { CustomTool, ToolDefinition } from '../tools/custom.ts';

export type { KnowledgeContext, SearchOptions } from '../core/context.ts';
export type { Knowledge, KnowledgeDocument, SearchRequest, SearchResult } from '../core/knowledge.ts';
export type {
  Persona,
  PersonaContext,
  PersonaDraft,
  PersonaInfo,
  PersonaPrompt,
  PromptMessage,
} from '../core/persona.ts';
export { definePersona } from '../personas/personas.ts';
export type { ToolDefinition } from '../tools/custom.ts';

/** A source in code: everything that it has, at every sync. */
export interface ConnectorDefinition {
  /** Its documents are of the source `ts:NAME`. */
  readonly name: string;
  scan(): readonly GivenItem[] | Promise<readonly GivenItem[]> | AsyncIterable<GivenItem>;
}

export interface SubstratOptions {
  /** A configuration file; left out, the one that `ctx` would find. */
  readonly config?: string;
  /** Left out, $SUBSTRAT_HOME or ~/.substrat. */
  readonly home?: string;
  readonly personas?: readonly Persona[];
  readonly tools?: readonly ToolDefinition[];
  readonly connectors?: readonly ConnectorDefinition[];
  readonly log?: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** The knowledge base and the personas of a configuration, with those of a program of one's own. */
export interface Substrat {
  readonly knowledge: Knowledge;
  readonly personas: Personas;
  readonly tools: { list(): readonly CustomTool[]; find(name: string): CustomTool | null };
  /** Throws `not_found`, `bad_request`, `agent_error`, `timeout`. */
  resolvePersona(name: string, args?: Readonly<Record<string, unknown>>): Promise<PersonaPrompt>;
  callTool(name: string, params?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Brings every source up to date. */
  sync(): Promise<Readonly<Record<string, SyncCounts>>>;
  /** Serves the tools, the personas and MCP over HTTP, as `ctx serve mcp` does; without a token, to whoever can reach the address. */
  serve(at?: {
    readonly bind?: { readonly host: string; readonly port: number };
    readonly token?: string | null;
  }): Promise<{ readonly url: string; close(): Promise<void> }>;
  close(): Promise<void>;
}

export function defineTool(definition: ToolDefinition): ToolDefinition {
  return definition;
}

export function defineConnector(definition: ConnectorDefinition): ConnectorDefinition {
  if (!NAME.test(definition.name)) {
    throw new SubstratError('bad_request', `"${definition.name}" cannot be the name of a connector.`);
  }
  return definition;
}

/** Opens what a configuration has, with personas, tools and connectors of one's own. */
export async function createSubstrat(options: SubstratOptions = {}): Promise<Substrat> {
  // A module that defines a persona imports this file too, and needs none of it.
  const { openSubstrat } = await import('./substrat.ts');
  return openSubstrat(options);
}
