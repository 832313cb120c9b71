import type { Config } from '../config/config.ts';
import type { Store } from '../store/store.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';

/** What a daemon has from its start to its end. The files of this room take the parts that they need. */
export interface Node {
  readonly home: Home;
  readonly store: Store;
  readonly config: Config;
  readonly clock: () => number;
  readonly log: Log;
}

/** Repeats work on the store until it succeeds. */
export type Stored = <T>(work: () => Promise<T>) => Promise<T>;
