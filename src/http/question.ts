import { z } from '@hono/zod-openapi';
import { EXTERNAL } from '../core/provider-names.ts';
import { OUTCOMES, QUESTION_KINDS } from '../core/question.ts';
import type { QuestionView } from '../store/store.ts';

const MAX_WORDS = 100_000;
const time = z.string().openapi({ format: 'date-time' });
const uuid = z.string().openapi({ format: 'uuid' });
const words = z
  .string()
  .max(MAX_WORDS, { abort: true })
  .refine((text) => text.trim() !== '' && !text.includes('\0'), 'must not be empty or contain NUL characters');
const args = z.record(z.string(), z.unknown());

/** Something that waits for a person's decision. */
export const Question = z
  .strictObject({
    id: uuid,
    kind: z.enum(QUESTION_KINDS),
    agent: z.string().openapi({ description: 'Handle of the agent that asks.' }),
    agentId: uuid,
    channelId: z.string(),
    subject: z.string(),
    details: z.string().nullable(),
    options: z.array(z.string()).openapi({ description: 'Suggested answers.' }),
    tool: z.string().nullable().openapi({ description: 'For an approval.' }),
    arguments: args.nullable().openapi({ description: 'For an approval: all arguments of the call.' }),
    blocking: z.boolean().openapi({ description: 'The agent cannot go on without the answer.' }),
    blocks: uuid.nullable().openapi({ description: 'The request that waits for it.' }),
    unsandboxed: z.boolean().openapi({
      description:
        'The agent runs outside a sandbox, so it could answer as the owner itself: the approval is a convention.',
    }),
    createdAt: time,
    expiresAt: time.nullable(),
    outcome: z.enum(OUTCOMES).nullable().openapi({ description: 'Null while it is open.' }),
    note: z.string().nullable().openapi({ description: "The person's words." }),
    revisedArguments: args.nullable(),
    settledBy: z.string().nullable().openapi({ description: 'Handle of the person.' }),
    settledAt: time.nullable(),
    usedAt: time.nullable().openapi({ description: 'When the approved call was made.' }),
  })
  .openapi('Question');

export const QuestionAnswer = z.strictObject({ text: words }).openapi('QuestionAnswer');
export const QuestionApproval = z
  .strictObject({
    text: words.optional(),
    arguments: args
      .optional()
      .openapi({ description: 'Approve these arguments instead of those that were asked for.' }),
  })
  .openapi('QuestionApproval');
export const QuestionRejection = z.strictObject({ text: words.optional() }).openapi('QuestionRejection');

export function showQuestion(view: QuestionView, { sandboxed }: { readonly sandboxed: boolean }) {
  const at = (when: number | null) => (when === null ? null : new Date(when).toISOString());
  return {
    id: view.id,
    kind: view.kind,
    agent: view.handle,
    agentId: view.agentId,
    channelId: view.channelId,
    subject: view.subject,
    details: view.details,
    options: [...view.options],
    tool: view.tool,
    arguments: view.args,
    blocking: view.blocking,
    blocks: view.parentId,
    unsandboxed: !sandboxed || view.provider === EXTERNAL,
    createdAt: new Date(view.createdAt).toISOString(),
    expiresAt: at(view.deadlineAt),
    outcome: view.outcome,
    note: view.note,
    revisedArguments: view.revisedArgs,
    settledBy: view.settledByHandle,
    settledAt: at(view.settledAt),
    usedAt: at(view.usedAt),
  };
}
