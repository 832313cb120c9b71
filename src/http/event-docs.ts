import { EVENTS, type EventType } from '../core/event.ts';
import { shownShape } from './events.ts';

const BEGIN = '<!-- events: made by `npm run docs` from src/core/event.ts -->';
const END = '<!-- end of events -->';

/** Regenerates the table of events in a page. */
export function withEventTable(page: string): string {
  const [before, rest = ''] = page.split(BEGIN);
  return `${before}${BEGIN}\n${table()}${END}${rest.split(END)[1] ?? ''}`;
}

function table(): string {
  const rows = (Object.keys(EVENTS) as EventType[]).map((type) => {
    const fields = Object.keys(shownShape(type)).map((name) => `\`${name}\``);
    return `| \`${type}\` | ${EVENTS[type].about} | ${fields.join(', ')} | ${EVENTS[type].seenIn ?? 'owner'} |\n`;
  });
  return `| type | when | data | seen by |\n| --- | --- | --- | --- |\n${rows.join('')}`;
}
