import { z } from '@hono/zod-openapi';
import { MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, type NewAttachment, nameProblem } from '../core/attachment.ts';

/** A file that a message carries. */
export const Attachment = z
  .strictObject({ name: z.string(), mediaType: z.string(), size: z.int(), hash: z.string() })
  .openapi('Attachment');

export const AttachedFile = z
  .strictObject({ ...Attachment.shape, data: z.string().openapi({ description: 'The bytes in base64.' }) })
  .openapi('AttachedFile');

export const AttachmentCreations = z
  .array(
    z.strictObject({
      name: z.string().superRefine((name, context) => {
        const problem = nameProblem(name);
        if (problem !== null) context.addIssue({ code: 'custom', message: problem });
      }),
      data: z
        .base64()
        .max(Math.ceil(MAX_ATTACHMENT_BYTES / 3) * 4)
        .openapi({ description: 'The bytes of the file in base64; at most 5 MiB.' }),
    }),
  )
  .max(MAX_ATTACHMENTS)
  .openapi({
    description: 'Files for the agents that it reaches. They are in their workspace when their turn begins.',
  });

export function bytesOf(files: z.infer<typeof AttachmentCreations> = []): NewAttachment[] {
  return files.map(({ name, data }) => ({ name, data: Buffer.from(data, 'base64') }));
}
