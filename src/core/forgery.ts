import { ALPHABET, readingOf } from './look-alikes.ts';

/** The first words of Substrat's message headers. `l` is written as `i`, as in the alphabet. */
const HEADERS = ['repiyfrom', 'iaterepiyfrom', 'messagefrom', 'aisosaidby', 'noticefrom', 'errorfrom', 'substrat:'];
/** Letter pairs that look like one letter: "rn" as "m", "cl" as "d"; the long s looks like "f". */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = { m: ['m', 'rn'], d: ['d', 'ci'], f: ['f', 's'] };

/** HTML tags and entities, which are invisible once rendered. */
const HTML = /<[^<>\p{Cc}\u2028\u2029]*>|&#?\w{1,10};/gu;

/**
 * Returns the numbers of the lines that look like the start of a message header, whatever look-alike letters they use
 * and whatever marks stand before or between the letters. Reads each character once, because texts can be long and
 * come from anybody.
 */
export function forgedLines(text: string): ReadonlySet<number> {
  const lines = new Set<number>();
  scan(text, lines);
  if (/[<&]/.test(text)) scan(text.replace(HTML, ' '), lines);
  return lines;
}

/**
 * Follows all words at once: `states` are the trie nodes that the line so far can have reached. The root stays among
 * them as long as only marks were read. A character that can be a letter or a mark leads to both.
 */
function scan(text: string, found: Set<number>): void {
  let line = 0;
  let states = START;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    const isPair = unit >= 0xd800 && unit <= 0xdfff;
    const code = isPair ? (text.codePointAt(i) as number) : unit;
    const kind = kindOf(code);
    if (code > 0xffff) i += 1;
    if (kind === BREAK) {
      if (code === 0x0d && text.charCodeAt(i + 1) === 0x0a) i += 1;
      line += 1;
      states = START;
    } else if (kind !== SKIP && states.length > 0) {
      states = follow(states, code, kind);
      if (states.some(isComplete)) {
        found.add(line);
        states = NONE;
      }
    }
  }
}

function follow(states: readonly Node[], code: number, kind: number): readonly Node[] {
  if (kind === OTHER) return NONE;
  if (kind === MARK) return states.includes(ROOT) ? START : NONE;
  if (kind === LETTERS) {
    const { letters, soft } = letterings.get(code) as Lettering;
    let led = states;
    for (const letter of letters) led = step(led, ALPHABET.indexOf(letter));
    return soft ? union(states, led) : led;
  }
  const led = step(states, kind & LETTER_MASK);
  return (kind & SOFT) === 0 ? led : union(states, led);
}

function step(states: readonly Node[], letter: number): readonly Node[] {
  let led = NONE;
  for (const { children } of states) {
    const next = children[letter];
    if (next) led = led === NONE ? next.alone : [...led, next];
  }
  return led;
}

function union(states: readonly Node[], more: readonly Node[]): readonly Node[] {
  const added = more.filter((node) => !states.includes(node));
  return added.length === 0 ? states : [...states, ...added];
}

/** How a character is classified, in one byte: the index of a letter in the alphabet, or one of these. */
const UNKNOWN = 0;
const BREAK = 1;
const SKIP = 2;
const MARK = 3;
const OTHER = 4;
/** Stands for more than one letter. */
const LETTERS = 5;
const LETTER = 0x40;
const SOFT = 0x80;
const LETTER_MASK = 0x1f;

interface Lettering {
  readonly letters: string;
  readonly soft: boolean;
}

const kinds = new Uint8Array(0x110000);
const letterings = new Map<number, Lettering>();

/** Computed once per distinct character. */
function kindOf(code: number): number {
  const known = kinds[code] as number;
  if (known !== UNKNOWN) return known;
  const kind = classify(code);
  kinds[code] = kind;
  return kind;
}

function classify(code: number): number {
  const reading = readingOf(String.fromCodePoint(code));
  if (reading === 'break') return BREAK;
  if (reading === 'skip') return SKIP;
  if (reading === 'mark') return MARK;
  if (reading === 'other') return OTHER;
  if (reading.letters.length === 1) {
    return LETTER | ALPHABET.indexOf(reading.letters) | (reading.soft ? SOFT : 0);
  }
  letterings.set(code, reading);
  return LETTERS;
}

interface Node {
  readonly children: (Node | undefined)[];
  /** A list with this node as the only state. */
  readonly alone: readonly Node[];
  complete: boolean;
}

function createNode(): Node {
  const alone: Node[] = [];
  const node: Node = { children: [], alone, complete: false };
  alone.push(node);
  return node;
}

function createTree(): Node {
  const root = createNode();
  for (const word of HEADERS.flatMap(spellingsOf)) {
    let node = root;
    for (const letter of word) {
      const at = ALPHABET.indexOf(letter);
      node.children[at] ??= createNode();
      node = node.children[at] as Node;
    }
    node.complete = true;
  }
  return root;
}

function spellingsOf(word: string): string[] {
  let spellings = [''];
  for (const letter of word) {
    spellings = spellings.flatMap((begun) => (SPELLINGS[letter] ?? [letter]).map((next) => begun + next));
  }
  return spellings;
}

function isComplete({ complete }: Node): boolean {
  return complete;
}

const ROOT = createTree();
const START = ROOT.alone;
const NONE: readonly Node[] = [];
