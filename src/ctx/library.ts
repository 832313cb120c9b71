import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { resolveHome } from '../config/home.ts';
import { NAME } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona, PersonaPrompt } from '../core/persona.ts';
import { configuredSources } from '../knowledge/connectors/create.ts';
import { checkItems, type GivenItem, itemConnector } from '../knowledge/connectors/script.ts';
import { Extractor } from '../knowledge/extract/extractor.ts';
import { createKnowledge } from '../knowledge/knowledge.ts';
import { type SyncCounts, syncSource } from '../knowledge/sync.ts';
import type { Personas } from '../personas/personas.ts';
import { openStore } from '../store/open.ts';
import type { CustomTool, ToolDefinition } from '../tools/custom.ts';
import { openExtensions } from '../tools/extensions.ts';
import { scriptSources } from './scripts.ts';

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

export async function createSubstrat(options: SubstratOptions = {}): Promise<Substrat> {
  const { connectors = [], log = () => undefined } = options;
  const home = options.home ?? resolveHome(process.env);
  const read = () => loadConfig({ file: options.config, cwd: process.cwd(), home, env: process.env });
  const config = read();
  if ('path' in config.db && config.db.path !== ':memory:') mkdirSync(dirname(config.db.path), { recursive: true });
  const store = await openStore(config.db);
  const scripts = scriptSources();
  const own = connectors.map((definition) => {
    const name = `ts:${definition.name}`;
    const open = async () => itemConnector(name, async () => checkItems(await allOf(definition)));
    return { name, open };
  });
  const sources = [...configuredSources(config, { home, env: process.env, openScript: scripts.open }), ...own];
  const configured = sources.map(({ name }) => name);
  const knowledge = createKnowledge({ store, configured, finalLimit: config.retrieval.finalLimit });
  const extractor = new Extractor();
  const close = async () => {
    await extractor.close();
    await scripts.close();
    await store.close();
  };
  const code = { personas: options.personas ?? [], tools: options.tools ?? [] };
  const extensions = await openExtensions({ read, knowledge, env: process.env, code, log }).catch(async (error) => {
    await close();
    throw error;
  });
  const { personas, tools } = extensions;
  return {
    knowledge,
    personas,
    tools,
    resolvePersona: (name, args = {}) => personas.resolve(name, args),
    callTool: async (name, params = {}) => {
      const tool = tools.find(name);
      if (tool === null) throw new SubstratError('not_found', `There is no tool "${name}".`);
      return tool.call(params);
    },
    sync: async () => {
      const indexer = { extractor, limits: config.chunking, clock: Date.now };
      const counts: Record<string, SyncCounts> = {};
      for (const { name, open } of sources) {
        if (open === null) continue;
        const connector = await open();
        try {
          const { signal } = new AbortController();
          const onSkip = (id: string, reason: string) => log('warn', `${name}: skipped ${id}: ${reason}`);
          counts[name] = await syncSource({
            store,
            connector,
            indexer,
            scope: {},
            dryRun: false,
            signal,
            onProgress: () => {},
            onSkip,
          });
        } finally {
          await connector.close();
        }
      }
      return counts;
    },
    close: async () => {
      await extensions.close();
      await close();
    },
  };
}

async function allOf(definition: ConnectorDefinition): Promise<GivenItem[]> {
  const items: GivenItem[] = [];
  for await (const item of await definition.scan()) items.push(item);
  return items;
}
