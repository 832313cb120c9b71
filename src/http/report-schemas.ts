import { z } from '@hono/zod-openapi';
import { Budget } from './budget.ts';
import { Evidence } from './evidence.ts';
import { time } from './fields.ts';
import { Question } from './question.ts';

const sums = { runs: z.int(), completed: z.int(), failed: z.int(), cancelled: z.int() };
const used = { inputTokens: z.int(), outputTokens: z.int(), costUsd: z.number() };

export const Report = z
  .strictObject({
    since: time,
    until: time,
    total: z.strictObject({ ...sums, ...used }),
    agents: z
      .array(z.strictObject({ agent: z.string(), ...sums, ...used }))
      .openapi({ description: 'What ran and what it cost, the costliest first.' }),
    budgets: z.array(Budget).openapi({
      description: 'Budgets with what is used in their current period. Default ones only if something is used.',
    }),
    evidence: z
      .array(
        z.strictObject({ agent: z.string(), run: z.string().nullable(), messageId: z.string(), ...Evidence.shape }),
      )
      .openapi({ description: 'What agents claimed to have done since then, and what checks found, newest first.' }),
    failures: z
      .array(z.strictObject({ run: z.string(), agent: z.string(), error: z.string().nullable(), at: time }))
      .openapi({ description: 'The last runs that failed, newest first.' }),
    questions: z.array(Question).openapi({ description: 'What people were asked since then, or answered.' }),
    waiting: z
      .strictObject({
        questions: z.array(Question),
        requests: z.array(z.strictObject({ messageId: z.string(), from: z.string(), createdAt: time })),
        turns: z
          .array(z.strictObject({ agent: z.string(), state: z.string(), reason: z.string().nullable() }))
          .openapi({ description: 'Turns that are stalled or looping, or stopped by a budget; stranded agents.' }),
        paused: z.array(z.strictObject({ agent: z.string(), reason: z.string(), at: time })),
      })
      .openapi({ description: 'What waits for you now.' }),
  })
  .openapi('Report');
