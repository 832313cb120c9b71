import type { PeopleRules } from '../core/people.ts';

export interface MessagingRules {
  readonly requestDeadlineMs: number;
  /** How long a question to a person stays open. */
  readonly questionDeadlineMs: number;
  /** Whether questions are pushed to people outside of Substrat. */
  readonly pushes?: boolean;
  /** The depth at which posts in channels start no more runs. */
  readonly maxChainDepth: number;
  /** The number of runs of a tree until its owner speaks again. */
  readonly maxTreeRuns: number;
  readonly people: PeopleRules;
}
