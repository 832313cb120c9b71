import type { KnowledgeContext } from './context.ts';
import { isInScope, type Scope } from './scope.ts';

/** A reusable definition of an agent; seed 004 calls it an agent. */
export interface Persona extends PersonaInfo {
  /** Called for every use. If the result has `tools`, they replace the declared ones for that use. */
  resolve(args: PersonaArguments, context: PersonaContext): Promise<PersonaDraft>;
}

export interface PersonaInfo {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly string[];
  readonly source: PersonaSource;
  readonly arguments: readonly PersonaArgument[];
}

export type PersonaSource = 'toml' | 'lua' | 'ts';

export interface PersonaArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  /** Suggestions for completion in a client; never a restriction. */
  readonly values?: readonly string[] | undefined;
}

export type PersonaArguments = Readonly<Record<string, unknown>>;

export interface PersonaContext extends KnowledgeContext {
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void;
}

/** What `resolve` returns; missing fields get defaults. */
export interface PersonaDraft {
  readonly system: string;
  readonly tools?: readonly string[] | undefined;
  readonly messages?: readonly PromptMessage[] | undefined;
}

export interface PersonaPrompt {
  readonly system: string;
  readonly tools: readonly string[];
  readonly messages: readonly PromptMessage[];
}

/** The persona that an agent is created from. */
export interface PersonaChoice {
  readonly name: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** The tools that a scope allows, without duplicates. */
export function withinScope(tools: readonly string[], scope: Scope): string[] {
  return [...new Set(tools)].filter((tool) => isInScope(scope, tool));
}

export interface PromptMessage {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string;
}
