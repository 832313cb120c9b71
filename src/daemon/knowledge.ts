import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Extensions } from '../extensions/extensions.ts';
import type { KnowledgeDoor } from '../http/api.ts';
import type { Embedder } from '../knowledge/embedding.ts';
import type { Store } from '../store/store.ts';
import { createAnswer } from '../tools/answer.ts';
import { createServedTools } from '../tools/served.ts';
import type { Log } from './log.ts';

interface ServedKnowledge {
  readonly config: Config;
  readonly home: string;
  readonly store: Store;
  readonly log: Log;
  readonly version: string;
}

/**
 * The knowledge base of the daemon's store, and the model for memory. Their code loads on first use, so that it does
 * not delay the start.
 */
export function openKnowledge({ config, home, store, log }: Omit<ServedKnowledge, 'version'>): {
  readonly knowledge: Knowledge;
  /** Null where embeddings are disabled. */
  readonly openEmbedder: (() => Promise<Embedder>) | null;
} {
  const loadEmbedder = async (): Promise<Embedder | null> => {
    const { createEmbedder } = await import('../knowledge/embedding.ts');
    const onFetch = ({ what, bytes, total }: { what: string; bytes: number; total: number }) => {
      if (bytes === total) log.info({ what, bytes }, 'fetched for embeddings');
    };
    return createEmbedder(config.embedding, { models: join(home, 'models'), onFetch });
  };
  let embedder: Promise<Embedder | null> | null = null;
  const embedding = () => (embedder ??= loadEmbedder());
  const load = async (): Promise<Knowledge> => {
    const { createKnowledge } = await import('../knowledge/knowledge.ts');
    const { sourceNames } = await import('../knowledge/connectors/create.ts');
    const configured = sourceNames(config);
    const { createReranker } = await import('../knowledge/reranker.ts');
    const { retrieval } = config;
    const reranker = createReranker(retrieval, { models: join(home, 'models') });
    return createKnowledge({ store, configured, retrieval, embedder: await embedding(), reranker });
  };
  let loaded: Promise<Knowledge> | null = null;
  const opened = () => (loaded ??= load());
  return {
    knowledge: {
      search: async (request) => (await opened()).search(request),
      get: async (id) => (await opened()).get(id),
      sources: async () => (await opened()).sources(),
    },
    openEmbedder: config.embedding.provider === 'disabled' ? null : async () => (await embedding()) as Embedder,
  };
}

/** The knowledge base for HTTP clients: as tools, and as an MCP server. */
export function knowledgeDoor(
  knowledge: Knowledge,
  extensions: () => Promise<Extensions>,
  { version, log, config, home }: Omit<ServedKnowledge, 'store'>,
): KnowledgeDoor {
  const tools = createServedTools(knowledge, async () => (await extensions()).tools);
  const personas = async () => (await extensions()).personas;
  const load = async () => {
    const { createKnowledgeServer } = await import('../mcp/knowledge-server.ts');
    return createKnowledgeServer({ version, tools, personas, log });
  };
  let server: ReturnType<typeof load> | null = null;
  return {
    tools,
    personas,
    answer: createAnswer({ config, home, version, knowledge }),
    mcp: async (request) => {
      server ??= load();
      return (await server).fetch(request);
    },
    close: async () => (await server)?.close(),
  };
}
