import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../command-line/context.ts';
import type { Config } from '../config/config.ts';
import type { ConfigReader } from '../config/config-reader.ts';
import { makeHome, unusable } from '../config/home.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type ConfiguredSource, configuredSources } from '../knowledge/connectors/create.ts';
import { createEmbedder, type Embedder } from '../knowledge/embedding.ts';
import { createKnowledge } from '../knowledge/knowledge.ts';
import { createReranker } from '../knowledge/reranker.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { beforeUpgrade } from './before-upgrade.ts';
import { openReader } from './open-reader.ts';
import { showFetching } from './progress.ts';
import { scriptSources } from './scripts.ts';

/** The configured store, opened for one command. */
export interface OpenedStore {
  readonly reader: ConfigReader;
  readonly config: Config;
  readonly home: string;
  readonly store: Store;
  readonly knowledge: Knowledge;
  /** Null where embeddings are disabled. */
  readonly embedder: Embedder | null;
  readonly sources: readonly ConfiguredSource[];
}

const say = (details: object, message: string) =>
  void process.stderr.write(`ctx: ${message} ${JSON.stringify(details)}\n`);
const STORE_LOG = { info: say, warn: say };

/** Opens the store for the command, and closes it however the work ends. */
export async function withStore<T>(
  context: Context,
  command: Command,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  const reader = openReader(context, command);
  const config = reader.load();
  const home = context.home();
  makePlace(config, home);
  const upgrade = beforeUpgrade(config, context.version);
  const store = await openStore(config.db, { durability: 'normal', beforeUpgrade: upgrade, log: STORE_LOG });
  const scripts = scriptSources(reader.readScript);
  try {
    const sources = configuredSources(config, {
      home,
      env: process.env,
      within: reader.within,
      openScript: scripts.open,
    });
    const embedder = createEmbedder(config.embedding, { models: join(home, 'models'), onFetch: showFetching });
    const configured = sources.map(({ name }) => name);
    const reranker = createReranker(config.retrieval, { models: join(home, 'models'), onFetch: showFetching });
    const { retrieval } = config;
    const knowledge = createKnowledge({ store, configured, retrieval, embedder, reranker, patienceMs: 1000 });
    return await work({ reader, config, home, store, knowledge, embedder, sources });
  } finally {
    await scripts.close();
    await store.close();
  }
}

function makePlace({ db }: Config, home: string): void {
  if (!('path' in db) || db.path === ':memory:') return;
  const directory = dirname(db.path);
  if (directory === home) {
    makeHome(home);
    return;
  }
  try {
    mkdirSync(directory, { recursive: true });
  } catch (error) {
    throw unusable(directory, error);
  }
}
