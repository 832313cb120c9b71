import { NAME } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { ToolDefinition } from '../tools/custom.ts';
import type { ConnectorDefinition, Substrat, SubstratOptions } from './substrat.ts';

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
export type { ConnectorDefinition, Substrat, SubstratOptions } from './substrat.ts';

export function defineTool(definition: ToolDefinition): ToolDefinition {
  return definition;
}

export function defineConnector(definition: ConnectorDefinition): ConnectorDefinition {
  if (!NAME.test(definition.name)) {
    throw new SubstratError('bad_request', `"${definition.name}" is not a valid name for a connector.`);
  }
  return definition;
}

/** Opens a configuration, with additional personas, tools and connectors in code. */
export async function createSubstrat(options: SubstratOptions = {}): Promise<Substrat> {
  // A module that defines a persona imports this file too and needs none of it.
  const { openSubstrat } = await import('./substrat.ts');
  return openSubstrat(options);
}
