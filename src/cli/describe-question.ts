import type { Question } from '../client/client.ts';
import { paint } from '../command-line/terminal.ts';
import { shortId } from '../core/short-id.ts';

/** Everything that a person needs to decide: for an approval all arguments, never shortened. */
export function describeQuestion(question: Question): string {
  const { agent, kind, subject, options, details, tool, arguments: args, unsandboxed } = question;
  const id = shortId(question.id);
  const isApproval = kind === 'approval';
  const title = `${paint('bold', agent)} ${isApproval ? `needs your approval to call ${tool}` : 'asks'}`;
  const choices = options.map((option, i) => `${i + 1}. ${option}`);
  const parts = [
    isApproval ? JSON.stringify(args, null, 2) : [subject, ...choices].join('\n'),
    details ?? '',
    unsandboxed && isApproval ? 'It runs outside a sandbox: nothing forces it to wait for your approval.' : '',
    isApproval ? `substrat approve ${id}\nsubstrat reject ${id}` : `substrat answer ${id} "…"`,
  ];
  const lines = parts.filter(Boolean).flatMap((part) => part.split('\n'));
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}
