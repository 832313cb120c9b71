import type { AgentId, MessageId, RunId } from './ids.ts';

export const EVIDENCE_KINDS = ['commit', 'file', 'command'] as const;
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

export const EVIDENCE_STATES = ['claimed', 'ran', 'proven', 'refuted'] as const;
/**
 * `claimed`: the agent's word, not checked (yet). `ran`: the command ended as claimed, but the files changed meanwhile. `proven`:
 * Substrat found it to be so. `refuted`: Substrat found it to be otherwise.
 */
export type EvidenceState = (typeof EVIDENCE_STATES)[number];

/** What an agent claims about its work. */
export interface Claim {
  readonly kind: EvidenceKind;
  /** The hash of a commit, a path, or a command. */
  readonly subject: string;
  /** The SHA-256 of the file, or the exit code of the command; null for a commit. */
  readonly expected: string | null;
}

/** What a check found out. */
export interface Finding {
  readonly state: EvidenceState;
  /** Why, in a sentence. */
  readonly detail: string;
  /** The git tree of the files that it was checked on; null if that does not matter. */
  readonly tree: string | null;
}

/** A claim that a message carries. */
export interface Evidence extends Claim {
  readonly messageId: MessageId;
  readonly position: number;
  readonly agentId: AgentId;
  readonly runId: RunId | null;
  readonly state: EvidenceState;
  readonly detail: string | null;
  readonly tree: string | null;
  readonly createdAt: number;
  /** Null until it was checked. */
  readonly checkedAt: number | null;
}

/** The most that one message carries. */
export const MOST_EVIDENCE = 10;

/** The commands that a request asks for, each on a line of its own: `Check: npm test`. They must end with 0. */
export function checksIn(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => /^\s*check:\s+(\S.*?)\s*$/i.exec(line)?.[1] ?? []);
}

/** As people and agents read it, in one line. */
export function evidenceText({
  kind,
  subject,
  expected,
  state,
  detail,
}: Claim & Pick<Evidence, 'state' | 'detail'>): string {
  const what = { commit: '', file: ` has SHA-256 ${expected}`, command: ` ends with ${expected}` };
  return `${state}: ${kind} ${subject}${what[kind]}${detail === null ? '' : ` (${detail})`}`;
}
