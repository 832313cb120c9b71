import * as z from 'zod';
import { type Claim, MOST_EVIDENCE } from '../core/evidence.ts';
import type { ToolContext } from './tool.ts';

/** One line that can be shown anywhere. */
const line = (most: number) =>
  z
    .string()
    .max(most, { error: `must have at most ${most} characters`, abort: true })
    .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u, 'must be one line without control characters');

const commit = z.strictObject({
  commit: z
    .string()
    .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'must be a full hash')
    .describe('Full hash of a commit in your workspace.'),
});
const file = z.strictObject({
  file: line(1_000).describe('Path of a file in your workspace.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .describe('SHA-256 of the file.'),
});
const command = z.strictObject({
  command: line(1_000).describe('A command that you ran in your working directory.'),
  exit_code: z.int().min(0).max(255).describe('How it ended.'),
});

/** The parameter of the tools that report work. */
export const evidenceField = z
  .array(z.union([commit, file, command]))
  .min(1)
  .max(MOST_EVIDENCE)
  .optional()
  .describe(
    'Evidence for what you claim to have done. Substrat checks it after your turn; it runs a command only if the configuration or a request of the owner named it.',
  );

type Given = z.infer<typeof evidenceField>;

/** Stores what a message claims, in its transaction. */
export async function claim(context: ToolContext, messageId: string, given: Given): Promise<{ claimed?: true }> {
  const { tx, agent, run, now } = context;
  for (const [position, one] of (given ?? []).entries()) {
    const unchecked = { state: 'claimed', detail: null, tree: null, createdAt: now, checkedAt: null } as const;
    const made = { messageId, position, agentId: agent.id, runId: run.id };
    await tx.evidence.insertEvidence({ ...made, ...claimOf(one), ...unchecked });
  }
  return given ? { claimed: true } : {};
}

function claimOf(given: NonNullable<Given>[number]): Claim {
  if ('commit' in given) return { kind: 'commit', subject: given.commit, expected: null };
  if ('file' in given) return { kind: 'file', subject: given.file, expected: given.sha256 };
  return { kind: 'command', subject: given.command, expected: String(given.exit_code) };
}
