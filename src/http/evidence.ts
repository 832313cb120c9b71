import { z } from '@hono/zod-openapi';
import { EVIDENCE_KINDS, EVIDENCE_STATES, type Evidence as Stored } from '../core/evidence.ts';
import { time } from './fields.ts';

export const Evidence = z
  .strictObject({
    kind: z.enum(EVIDENCE_KINDS),
    subject: z.string().openapi({ description: 'The hash of a commit, a path, or a command.' }),
    expected: z.string().nullable().openapi({ description: 'The SHA-256 of the file, or the exit code.' }),
    state: z.enum(EVIDENCE_STATES).openapi({
      description:
        'The word of the agent (`claimed`), or what Substrat found: `proven`, `refuted`, or `ran` (as claimed, but the files changed meanwhile).',
    }),
    detail: z.string().nullable().openapi({ description: 'What the check found; null before it.' }),
    tree: z.string().nullable().openapi({ description: 'The git tree that it was checked on.' }),
    checkedAt: time.nullable(),
  })
  .openapi('Evidence');

export function showEvidence({ kind, subject, expected, state, detail, tree, checkedAt }: Stored) {
  return {
    kind,
    subject,
    expected,
    state,
    detail,
    tree,
    checkedAt: checkedAt === null ? null : new Date(checkedAt).toISOString(),
  };
}
