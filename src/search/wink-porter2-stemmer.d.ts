declare module 'wink-porter2-stemmer' {
  /** he stem of a lower-case English word. */
  export default function stem(word: string): string;
}
