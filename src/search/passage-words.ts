import { areNeighbours, type Passage } from '../core/memory.ts';
import { stemsOf } from './stems.ts';

/** Names of months in these languages, so that "im Mai" and "en mai" find it as well as "in May". */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt'];

/**
 * The words by which a passage is found: its own, its tags included, and those around it, which count less: the words
 * of its neighbours and its date in words. `beside` has the agent's passages directly before and after it.
 */
export function passageWords(
  passage: Indexed,
  beside: readonly Pick<Passage, 'content' | 'createdAt' | 'runId'>[],
): { own: string[]; near: string[] } {
  const own = stemsOf([passage.content, ...passage.tags].join('\n'));
  const neighbours = beside.filter((one) => areNeighbours(passage, one)).map(({ content }) => content);
  const near = stemsOf([dateInWords(passage.createdAt), ...neighbours].join('\n'));
  return { own, near: [...new Set(near)] };
}

type Indexed = Pick<Passage, 'content' | 'tags' | 'createdAt' | 'runId'>;

/** In UTC, because the nodes of a fleet may be in several time zones. */
function dateInWords(at: number): string {
  const date = new Date(at);
  formats ??= createFormats();
  const months = new Set(formats.months.map((format) => format.format(date)));
  return [date.toISOString().slice(0, 10), formats.weekday.format(date), ...months].join('\n');
}

/** Made at their first use: they take longer than the rest of a command's start. */
let formats: ReturnType<typeof createFormats> | undefined;

function createFormats() {
  return {
    months: LANGUAGES.map((language) => new Intl.DateTimeFormat(language, { month: 'long', timeZone: 'UTC' })),
    weekday: new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }),
  };
}
