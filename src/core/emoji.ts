/**
 * An emoji, or its name between colons. Only approximate, because it must be a pattern that every JSON Schema
 * implementation supports.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything below the first emoji is kept out.
export const EMOJI = /^(:[a-z0-9][a-z0-9_+-]{0,62}:|[^\x00-\xa8\s]{1,32})$/;
export const EMOJI_RULE = 'must be one emoji, such as 👍, or its name between colons, such as :thumbsup:';

export function isEmoji(text: string): boolean {
  return text.startsWith(':') || /^(?:\p{Extended_Pictographic}|\p{Emoji_Component})+$/u.test(text);
}
