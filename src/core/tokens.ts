/**
 * About how many tokens a text is, without asking any model: a token for every four bytes of UTF-8. Real tokenizers differ
 * from it, and from each other, by a fifth for English prose, by more for code and other scripts.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
