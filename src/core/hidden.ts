/**
 * Hidden characters: controls, line and paragraph separators, direction marks, zero-width characters, tags, and
 * everything else that has no shape but changes how the text around it is read. Includes lone surrogates, because no
 * encoding can represent them.
 */
const HIDDEN = String.raw`[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u{13430}-\u{1343F}]`;

/** Inside an emoji, the joiner, the emoji style and the tags of a flag are part of its shape. */
const PERSON_OR_THING = String.raw`\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?`;
const EMOJI = String.raw`\p{RGI_Emoji_Tag_Sequence}|[0-9#*]\uFE0F\u20E3|${PERSON_OR_THING}(?:\u200D${PERSON_OR_THING})*`;

const EMOJI_OR_HIDDEN = new RegExp(`(?:${EMOJI})|(${HIDDEN})`, 'gv');

/** Replaces each hidden character that is not part of an emoji. */
export function replaceHidden(text: string, replace: (character: string, at: number, text: string) => string): string {
  return text.replace(EMOJI_OR_HIDDEN, (found, hidden: string | undefined, at: number) =>
    hidden === undefined ? found : replace(hidden, at, text),
  );
}

/** Returns the first hidden character that is not part of an emoji. */
export function findHidden(text: string): string | null {
  for (const [, hidden] of text.matchAll(EMOJI_OR_HIDDEN)) {
    if (hidden !== undefined) return hidden;
  }
  return null;
}

/** The Unicode name of a character: "U+202E RIGHT-TO-LEFT OVERRIDE". */
export function nameCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')} ${NAMES.get(code) ?? familyOf(code)}`;
}

function familyOf(code: number): string {
  if (code < 0xa0) return 'CONTROL CHARACTER';
  if (code >= 0xd800 && code <= 0xdfff) return 'LONE SURROGATE';
  if (code >= 0xfe00 && code <= 0xfe0f) return `VARIATION SELECTOR-${code - 0xfe00 + 1}`;
  if (code >= 0xe0100 && code <= 0xe01ef) return `VARIATION SELECTOR-${code - 0xe0100 + 17}`;
  if (code >= 0xe0020 && code <= 0xe007e) return `TAG CHARACTER "${String.fromCodePoint(code - 0xe0000)}"`;
  if (code >= 0xe0000 && code <= 0xe0fff) return 'TAG CHARACTER';
  return 'INVISIBLE CHARACTER';
}

const CONTROLS =
  `NULL,START OF HEADING,START OF TEXT,END OF TEXT,END OF TRANSMISSION,ENQUIRY,ACKNOWLEDGE,BELL,BACKSPACE,
CHARACTER TABULATION,LINE FEED,LINE TABULATION,FORM FEED,CARRIAGE RETURN,SHIFT OUT,SHIFT IN,DATA LINK ESCAPE,DEVICE CONTROL ONE,
DEVICE CONTROL TWO,DEVICE CONTROL THREE,DEVICE CONTROL FOUR,NEGATIVE ACKNOWLEDGE,SYNCHRONOUS IDLE,END OF TRANSMISSION BLOCK,CANCEL,
END OF MEDIUM,SUBSTITUTE,ESCAPE,FILE SEPARATOR,GROUP SEPARATOR,RECORD SEPARATOR,UNIT SEPARATOR`.split(/,\s*/);

const NAMES: ReadonlyMap<number, string> = new Map([
  ...CONTROLS.map((name, code) => [code, name] as const),
  [0x7f, 'DELETE'],
  [0x85, 'NEXT LINE'],
  [0x9b, 'CONTROL SEQUENCE INTRODUCER'],
  [0x9d, 'OPERATING SYSTEM COMMAND'],
  [0xad, 'SOFT HYPHEN'],
  [0x34f, 'COMBINING GRAPHEME JOINER'],
  [0x61c, 'ARABIC LETTER MARK'],
  [0x115f, 'HANGUL CHOSEONG FILLER'],
  [0x1160, 'HANGUL JUNGSEONG FILLER'],
  [0x180e, 'MONGOLIAN VOWEL SEPARATOR'],
  [0x200b, 'ZERO WIDTH SPACE'],
  [0x200c, 'ZERO WIDTH NON-JOINER'],
  [0x200d, 'ZERO WIDTH JOINER'],
  [0x200e, 'LEFT-TO-RIGHT MARK'],
  [0x200f, 'RIGHT-TO-LEFT MARK'],
  [0x2028, 'LINE SEPARATOR'],
  [0x2029, 'PARAGRAPH SEPARATOR'],
  [0x202a, 'LEFT-TO-RIGHT EMBEDDING'],
  [0x202b, 'RIGHT-TO-LEFT EMBEDDING'],
  [0x202c, 'POP DIRECTIONAL FORMATTING'],
  [0x202d, 'LEFT-TO-RIGHT OVERRIDE'],
  [0x202e, 'RIGHT-TO-LEFT OVERRIDE'],
  [0x2060, 'WORD JOINER'],
  [0x2061, 'FUNCTION APPLICATION'],
  [0x2062, 'INVISIBLE TIMES'],
  [0x2063, 'INVISIBLE SEPARATOR'],
  [0x2064, 'INVISIBLE PLUS'],
  [0x2066, 'LEFT-TO-RIGHT ISOLATE'],
  [0x2067, 'RIGHT-TO-LEFT ISOLATE'],
  [0x2068, 'FIRST STRONG ISOLATE'],
  [0x2069, 'POP DIRECTIONAL ISOLATE'],
  [0x3164, 'HANGUL FILLER'],
  [0xfeff, 'ZERO WIDTH NO-BREAK SPACE'],
  [0xffa0, 'HALFWIDTH HANGUL FILLER'],
  [0xfff9, 'INTERLINEAR ANNOTATION ANCHOR'],
  [0xfffa, 'INTERLINEAR ANNOTATION SEPARATOR'],
  [0xfffb, 'INTERLINEAR ANNOTATION TERMINATOR'],
]);
