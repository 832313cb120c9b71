import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import { cancelReminder, setReminder } from '../messaging/reminders.ts';
import { defineTool, referenceField, textField } from './tool.ts';

const MAX_REASON = 2000;
const YEAR_S = 366 * 24 * 3600;
const SHORTEST_EVERY_S = 60;

export const remindMe = defineTool({
  name: 'remind_me',
  description:
    'Get a notice with this reason later, after `timeout` seconds or at the time `at`. It starts a turn if you are idle, so end your turn instead of waiting. With `every`, the notice repeats until you cancel it.',
  externalDescription:
    'Get a notice with this reason later, after `timeout` seconds or at the time `at`. Read it with check_inbox. With `every`, the notice repeats until you cancel it.',
  input: z.strictObject({
    reason: textField('What to remind you of.').max(MAX_REASON, `must have at most ${MAX_REASON} characters`),
    timeout: z.number().min(1).max(YEAR_S).optional().describe('In how many seconds.'),
    at: z.iso.datetime({ offset: true }).optional().describe('At what time, such as "2026-05-01T09:00:00Z".'),
    every: z.number().min(SHORTEST_EVERY_S).max(YEAR_S).optional().describe('Repeat every so many seconds.'),
  }),
  effect: true,
  run: async ({ tx, agent, run, now }, { reason, timeout, at, every }) => {
    if ((timeout === undefined) === (at === undefined)) {
      throw new SubstratError('bad_request', 'Give either `timeout` or `at`.');
    }
    const due = at === undefined ? now + Math.round((timeout ?? 0) * 1000) : Date.parse(at);
    if (due <= now)
      throw new SubstratError('bad_request', `\`at\` is in the past; it is ${new Date(now).toISOString()}.`);
    if (due > now + YEAR_S * 1000) throw new SubstratError('bad_request', '`at` must be within a year.');
    const everyMs = every === undefined ? null : Math.round(every * 1000);
    const id = await setReminder(tx, agent, run, { reason, due, everyMs, relative: at === undefined }, now);
    return { result: { status: 'scheduled', reminder_id: id } };
  },
});

export const cancelReminderTool = defineTool({
  name: 'cancel_reminder',
  description: 'Cancel a reminder that you set with remind_me.',
  input: z.strictObject({ reminder_id: referenceField('The id that remind_me returned.') }),
  effect: true,
  run: async ({ tx, agent }, { reminder_id: id }) => {
    await cancelReminder(tx, agent, id);
    return { result: { status: 'cancelled' } };
  },
});
