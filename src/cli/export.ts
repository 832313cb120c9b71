import type { Channel, FailedAttempt, Message, RunDetail } from '../client/client.ts';
import { evidenceText } from '../core/evidence.ts';
import { nameOf } from './agent-words.ts';

/** A channel as Markdown, oldest message first. Threads are marked by the message they answer. */
export function channelMarkdown(channel: Pick<Channel, 'id' | 'topic'>, messages: readonly Message[]): string {
  const head = [`# ${channel.id}`, ...(channel.topic === '' ? [] : ['', channel.topic])];
  return [...head, ...messages.map(messageMarkdown)].join('\n').concat('\n');
}

function messageMarkdown(message: Message): string {
  const reply = message.inReplyTo === null ? '' : `, reply to ${message.inReplyTo}`;
  const files = message.attachments.map(({ name }) => `\nAttached: ${name}`).join('');
  const reactions = message.reactions.map(({ emoji, users }) => `${emoji} ${users.map(nameOf).join(', ')}`).join('; ');
  const text = message.deletedAt === null ? message.text : '(deleted)';
  return `\n## ${nameOf(message.from)}, ${message.createdAt}\n\n<!-- ${message.messageId}${reply} -->\n\n${quoted(text)}${files}${reactions === '' ? '' : `\n\n${reactions}`}`;
}

/** A run as Markdown: what it was given, what it did, and its result. */
export function runMarkdown(run: RunDetail): string {
  const facts = [
    `- run: ${run.id}`,
    `- state: ${run.state}${run.error === null ? '' : `: ${run.error.replace(/\s+/g, ' ')}`}`,
    `- started: ${run.startedAt ?? 'not yet'}`,
    `- ended: ${run.endedAt ?? 'not yet'}`,
    `- attempts: ${run.attempt}`,
    ...run.failedAttempts.map((failed) => `- ${failedText(failed).replace(/\s+/g, ' ')}`),
    ...run.evidence.map((one) => `- ${evidenceText(one)}`),
  ];
  const steps = run.messages.map(({ type, tool, content, isError }) => {
    const title = [type.replaceAll('_', ' '), tool, isError ? '(error)' : null].filter(Boolean).join(' ');
    const isText = typeof content === 'string';
    return `\n## ${title}\n\n${isText ? quoted(content) : fenced(JSON.stringify(content, null, 2))}`;
  });
  const last = run.messages.findLast(({ type }) => type === 'assistant_message');
  const isRepeated = run.finalText === null || run.finalText === '' || last?.content === run.finalText;
  const result = isRepeated ? [] : [`\n## result\n\n${quoted(run.finalText ?? '')}`];
  return [`# ${run.agent}`, '', ...facts, ...steps, ...result].join('\n').concat('\n');
}

/** "attempt 1 failed at 2026-01-01T10:00:00.000Z: crash: The database does not answer." */
export function failedText({ attempt, at, kind, error }: FailedAttempt): string {
  return `attempt ${attempt} failed at ${at}: ${kind}: ${error}`;
}

/**
 * A message cannot add headings to the document, nor an entry that looks like somebody else's: its own headings are moved
 * below those, and an underline is not one.
 */
function quoted(text: string): string {
  return text
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(
      /^( {0,3})(#{1,6})(?=[ \t]|$)/gm,
      (_, indent: string, marks: string) => `${indent}${'##'.concat(marks).slice(0, 6).padStart(3, '#')}`,
    )
    .replace(/^( {0,3})(=+|-+)(?=[ \t]*$)/gm, '$1\\$2');
}

/** Longer than any fence inside. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}
