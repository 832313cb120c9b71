import * as z from 'zod';
import { askPerson } from '../messaging/questions.ts';
import { defineTool, textField } from './tool.ts';

const MAX_QUESTION = 4000;
const MAX_DETAILS = 20_000;
const MAX_OPTIONS = 10;
const MAX_OPTION = 200;

const atMost = (text: z.ZodString, most: number) => text.max(most, `must have at most ${most} characters`);

export const askPersonTool = defineTool({
  name: 'ask_person',
  description:
    'Ask a person to decide something. Returns immediately: end your turn now, the answer arrives as your next message. With `blocking: false`, ' +
    'go on with other work. The person may choose one of the `options` or answer in other words. If nobody answers in time, you are told.',
  externalDescription:
    'Ask a person to decide something. Returns immediately; the answer arrives in check_inbox. The person may choose one of the `options` or ' +
    'answer in other words. If nobody answers in time, you are told.',
  input: z.strictObject({
    question: atMost(textField('What the person has to decide.'), MAX_QUESTION),
    options: z
      .array(atMost(textField('A suggested answer.'), MAX_OPTION))
      .max(MAX_OPTIONS)
      .optional()
      .describe('Suggested answers.'),
    details: atMost(textField('What the person should know to decide.'), MAX_DETAILS).optional(),
    blocking: z.boolean().default(true).describe('Whether you cannot go on without the answer.'),
  }),
  effect: true,
  run: async ({ tx, agent, run, settings, now }, { question, options = [], details = null, blocking }) => {
    const wanted = { question, options, details, blocking };
    const { questionId, isOld } = await askPerson(tx, settings.rules, { agent, run }, wanted, now);
    const next = blocking
      ? 'End your turn now. The answer arrives as your next message.'
      : 'Go on. The answer arrives later.';
    return { result: { status: 'asked', question_id: questionId, ...(isOld && { already_open: true }), next } };
  },
});
