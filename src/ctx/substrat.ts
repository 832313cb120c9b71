import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createConfigReader } from '../config/config-reader.ts';
import { resolveHome } from '../config/home.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona, PersonaPrompt } from '../core/persona.ts';
import { VERSION } from '../core/version.ts';
import { openExtensions } from '../extensions/extensions.ts';
import { configuredSources } from '../knowledge/connectors/create.ts';
import { checkItems, type GivenItem, itemConnector } from '../knowledge/connectors/script.ts';
import { createEmbedder } from '../knowledge/embedding.ts';
import { Extractor } from '../knowledge/extract/extractor.ts';
import { createKnowledge } from '../knowledge/knowledge.ts';
import { createReranker } from '../knowledge/reranker.ts';
import { type SyncCounts, syncSource } from '../knowledge/sync.ts';
import type { Personas } from '../personas/personas.ts';
import { readScript } from '../scripting/open.ts';
import { openStore } from '../store/open.ts';
import type { CustomTool, ToolDefinition } from '../tools/custom.ts';
import { scriptSources } from './scripts.ts';

/** A source in code: returns all its items at every sync. */
export interface ConnectorDefinition {
  /** The source of its documents is `ts:NAME`. */
  readonly name: string;
  scan(): readonly GivenItem[] | Promise<readonly GivenItem[]> | AsyncIterable<GivenItem>;
}

export interface SubstratOptions {
  /** A configuration file; default: the one that `ctx` would find. */
  readonly config?: string;
  /** Default: $SUBSTRAT_HOME or ~/.substrat. */
  readonly home?: string;
  readonly personas?: readonly Persona[];
  readonly tools?: readonly ToolDefinition[];
  readonly connectors?: readonly ConnectorDefinition[];
  readonly log?: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** The knowledge base and the personas of a configuration and of a program. */
export interface Substrat {
  readonly knowledge: Knowledge;
  readonly personas: Personas;
  readonly tools: { list(): readonly CustomTool[]; find(name: string): CustomTool | null };
  /** Throws `not_found`, `bad_request`, `agent_error`, `timeout`. */
  resolvePersona(name: string, args?: Readonly<Record<string, unknown>>): Promise<PersonaPrompt>;
  callTool(name: string, params?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Syncs every source. */
  sync(): Promise<Readonly<Record<string, SyncCounts>>>;
  /**
   * Serves the tools, the personas and MCP over HTTP, as `ctx serve mcp` does. Without a token, everybody who can
   * reach the address has access.
   */
  serve(at?: {
    readonly bind?: { readonly host: string; readonly port: number };
    readonly token?: string | null;
  }): Promise<{ readonly url: string; close(): Promise<void> }>;
  close(): Promise<void>;
}

export async function openSubstrat(options: SubstratOptions): Promise<Substrat> {
  const { connectors = [], log = () => undefined } = options;
  const home = options.home ?? resolveHome(process.env);
  const around = { cwd: process.cwd(), home, env: process.env };
  const say = (message: string) => log('info', message);
  const reader = createConfigReader({
    ...around,
    named: options.config,
    trust: false,
    say,
    readScript,
    warn: (message) => log('warn', message),
  });
  const config = reader.load();
  if ('path' in config.db && config.db.path !== ':memory:') mkdirSync(dirname(config.db.path), { recursive: true });
  const tell = (level: 'info' | 'warn') => (details: object, message: string) =>
    log(level, `${message} ${JSON.stringify(details)}`);
  const store = await openStore(config.db, { log: { info: tell('info'), warn: tell('warn') } });
  const scripts = scriptSources(reader.readScript);
  const own = connectors.map((definition) => {
    const name = `ts:${definition.name}`;
    const open = async () => itemConnector(name, async () => checkItems(await allOf(definition)));
    return { name, open };
  });
  const sources = [
    ...configuredSources(config, { home, env: process.env, within: reader.within, openScript: scripts.open }),
    ...own,
  ];
  const configured = sources.map(({ name }) => name);
  const embedder = createEmbedder(config.embedding, { models: join(home, 'models'), onFetch: () => undefined });
  const reranker = createReranker(config.retrieval, { models: join(home, 'models') });
  const knowledge = createKnowledge({ store, configured, retrieval: config.retrieval, embedder, reranker });
  const extractor = new Extractor();
  const close = async () => {
    await extractor.close();
    await scripts.close();
    await store.close();
  };
  const code = { personas: options.personas ?? [], tools: options.tools ?? [] };
  const extensions = await openExtensions({
    read: reader.load,
    readScript: reader.readScript,
    knowledge,
    env: process.env,
    code,
    log,
  }).catch(async (error: unknown) => {
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
    serve: async ({ bind = config.server.bind, token = null } = {}) => {
      const [{ serveKnowledge }, { createKnowledgeServer }, { createServedTools }] = await Promise.all([
        import('../http/serve-knowledge.ts'),
        import('../mcp/knowledge-server.ts'),
        import('../tools/served.ts'),
      ]);
      const door = {
        tools: createServedTools(knowledge, async () => tools),
        personas: async () => personas,
      };
      const errors = {
        error: (details: object, message: string) => log('error', `${message} ${JSON.stringify(details)}`),
      };
      const mcp = createKnowledgeServer({ ...door, version: VERSION, log: errors });
      const knowledgeDoor = { ...door, answer: null, mcp: mcp.fetch, close: mcp.close };
      const served = await serveKnowledge(
        { store, log: errors, knowledgeDoor, version: VERSION },
        { bind, token, origins: config.server.origins, socket: null },
      );
      extensions.watch();
      return {
        url: served.url,
        close: async () => {
          await served.close();
          await mcp.close();
        },
      };
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
