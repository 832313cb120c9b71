import { flag, maybe, table, text } from '../fields.ts';

const address = text.refine(
  (url) => /^https?:\/\//.test(url) && URL.canParse(url) && URL.parse(url)?.username === '',
  'must be an address such as "https://example.com/hook", without a user name',
);

export const notify = table({
  url: maybe(address.meta({ secret: true })),
  secret: maybe(text.meta({ secret: true })),
  ntfy: maybe(address.meta({ secret: true })),
  ntfy_token: maybe(text.meta({ secret: true })),
  include_text: flag(false),
})
  .prefault({})
  .superRefine(({ url, secret }, context) => {
    if (url === null || secret !== null) return;
    context.addIssue({ code: 'custom', path: ['secret'], message: 'is needed to sign what is sent to `url`' });
  })
  .describe('Where people are told that something waits for them: a webhook, and a topic of ntfy.');
