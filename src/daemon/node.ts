import type { Config } from '../config/config.ts';
import type { Store } from '../store/store.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';

/** What lives as long as the daemon. Functions in this directory take the parts that they need. */
export interface Node {
  readonly home: Home;
  /** A new id at each start. */
  readonly incarnation: string;
  readonly store: Store;
  readonly config: Config;
  readonly clock: () => number;
  readonly log: Log;
}

/** Retries work on the store until it succeeds. */
export type Stored = <T>(work: () => Promise<T>) => Promise<T>;
