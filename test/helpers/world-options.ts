import type { OwnKind } from '../../src/core/own-tool.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { Thresholds } from '../../src/core/progress.ts';
import type { FireTimer } from '../../src/runs/due-timers.ts';
import type { Activity } from '../../src/runs/progress.ts';
import type { Store } from '../../src/store/store.ts';
import type { CustomTool } from '../../src/tools/custom.ts';

export interface WorldOptions {
  readonly slots?: number;
  readonly store?: Store;
  /** Not each write twice: for thousands of writes that other tests repeat. */
  readonly writesOnce?: true;
  /** In place of the clock that the test drives by `pass`. */
  readonly clock?: () => number;
  /** Whether other nodes may use the store. */
  readonly shared?: boolean;
  readonly maxTreeRuns?: number;
  readonly maxChainDepth?: number;
  readonly runsPerDay?: Record<string, number>;
  /** Of people in `runsPerDay`, and of `user`. */
  readonly timeZones?: Record<string, string>;
  readonly firstDayTokens?: number;
  readonly maxChildren?: number;
  readonly maxDepth?: number;
  readonly maxAgents?: number;
  readonly maxAttempts?: number;
  readonly maxDeaths?: number;
  readonly toolCallsPerMinute?: number;
  readonly requestDeadlineMs?: number;
  readonly questionDeadlineMs?: number;
  readonly policies?: readonly Policy[];
  readonly providerSlots?: { readonly test: number };
  /** Names of accounts, by provider. */
  readonly accounts?: Readonly<Record<string, readonly string[]>>;
  readonly customTools?: readonly CustomTool[];
  /** What providers do with tools of their own without asking. */
  readonly unjudged?: Readonly<Record<string, readonly OwnKind[]>>;
  /** What the timers of further kinds do. */
  readonly timers?: Readonly<Record<string, FireTimer>>;
  /** Called before each turn's program would start; whatever it throws reaches the daemon. */
  readonly beforeTurn?: () => void;
  /** Thresholds of progress; without them no turn is ever quiet. */
  readonly progress?: Thresholds;
  /** What the processes of turns have used. */
  readonly activity?: () => Activity;
  /** Called while the programs of a turn are ended. */
  readonly onClose?: () => Promise<void>;
  readonly onTurnEnded?: (agentId: string) => void;
  /** How long a turn whose budget is used up may finish its tool calls. */
  readonly stopAfterMs?: number;
}
