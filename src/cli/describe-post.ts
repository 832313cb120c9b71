import type { Message } from '../client/client.ts';
import { paint } from '../command-line/terminal.ts';
import { ago } from '../command-line/time.ts';
import { evidenceText } from '../core/evidence.ts';
import { shortId } from '../core/short-id.ts';

/** A message as people read it: who, when, its id, and its text below. */
export function describePost(message: Message): string {
  const marks = [
    message.parentMessageId && `in the thread ${shortId(message.parentMessageId)}`,
    message.editedAt && 'edited',
    ...message.attachments.map(({ name }) => `with ${name}`),
    ...message.reactions.map(({ emoji, users }) => `${emoji} ${users.join(', ')}`),
  ].filter(Boolean);
  const facts = [ago(message.createdAt), shortId(message.messageId), ...marks];
  const head = `${paint('bold', message.from)} ${paint('dim', facts.join(' · '))}`;
  const evidence = message.evidence.map((one) => `\n  ${paint('dim', evidenceText(one))}`).join('');
  return `${head}\n  ${message.deletedAt ? paint('dim', '(deleted)') : message.text.replaceAll('\n', '\n  ')}${evidence}`;
}
