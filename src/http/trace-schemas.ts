import { z } from '@hono/zod-openapi';
import { time, uuid } from './fields.ts';

export const SentMessage = z
  .strictObject({
    messageId: uuid,
    channelId: z.string(),
    kind: z.enum(['message', 'reply', 'error', 'notice']),
    text: z.string().openapi({ description: 'Its first 500 characters.' }),
    parentMessageId: uuid.nullable().openapi({ description: 'The first message of the thread.' }),
    createdAt: time,
  })
  .openapi('SentMessage');

export const Trace = z
  .strictObject({
    message: z
      .strictObject({ ...SentMessage.shape, from: z.string().openapi({ description: 'Handle of the author.' }) })
      .nullable()
      .openapi({ description: 'The message that began it; null if it no longer exists.' }),
    runs: z
      .array(
        z.strictObject({
          run: uuid,
          agent: z.string(),
          parent: uuid.nullable().openapi({ description: 'The run that sent the message that started it.' }),
          messageId: uuid.nullable().openapi({ description: 'The message that started it.' }),
          state: z.enum(['created', 'running', 'completed', 'failed', 'cancelled']),
          attempt: z.int(),
          error: z.string().nullable(),
          tokens: z.int(),
          costUsd: z.number(),
          createdAt: time,
          startedAt: time.nullable(),
          endedAt: time.nullable(),
        }),
      )
      .openapi({ description: 'Parents before their children.' }),
    complete: z.boolean().openapi({ description: 'False if there are more than the 200 runs that are listed.' }),
  })
  .openapi('Trace');
