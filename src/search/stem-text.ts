import { stemsOf } from './stems.ts';

/**
 * The stems of a text, separated by spaces: the same as `stemsOf`, several times faster. A sync spends most of its
 * time here, so this works on bytes and allocates nothing for a word seen before: it copies the bytes of the stems.
 */
export function stemText(text: string): string {
  stemmer ??= createStemmer();
  return stemmer(text);
}

let stemmer: ((text: string) => string) | null = null;

const SPACE = 0x20;
const BEYOND_ASCII = 0x80;
const [COLON, SLASH, PLUS, SHARP] = [0x3a, 0x2f, 0x2b, 0x23];
const WORD = 1;
const JOINS = 2;
const ENDS = 3;
/** How each byte occurs in a name, as in `TOGETHER` of stems.ts. */
const KINDS = Uint8Array.from({ length: 256 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/\w/.test(character)) return WORD;
  if (/[-./@:\\']/.test(character)) return JOINS;
  return code === PLUS || code === SHARP ? ENDS : 0;
});

/**
 * The cache has slots of one size: the lengths of a name and of its stems, then both. A later name may overwrite a
 * slot.
 */
const SLOTS = 1 << 16;
const NEIGHBOURS = 4;
const SLOT = 64;
const LENGTHS = 2;
const MOST = SLOT - LENGTHS;
/** Bytes are compared and copied four at a time, so reads and writes may go this far past the end. */
const BEHIND = 4;
const MASKS = [0, 0xff, 0xffff, 0xffffff];

function createStemmer(): (text: string) => string {
  const slots = viewOf((SLOTS + NEIGHBOURS) * SLOT);
  // Random, so that nobody can write a text whose names all share a slot.
  const seed = Math.floor(Math.random() * 0x7fffffff);
  let input = viewOf(16_384);
  let output = viewOf(16_384);
  let length = 0;

  const append = (stems: string): void => {
    if (stems === '') return;
    makeRoom(stems.length * 3 + 1);
    length += output.bytes.write(`${stems} `, length);
  };
  const makeRoom = (more: number): void => {
    if (length + more + BEHIND <= output.bytes.length) return;
    const larger = viewOf(2 * (length + more + BEHIND));
    output.bytes.copy(larger.bytes, 0, 0, length);
    output = larger;
  };

  const appendName = (begin: number, size: number, hash: number): void => {
    const first = ((hash ^ (hash >>> 15)) & (SLOTS - 1)) * SLOT;
    for (let slot = first; slot < first + NEIGHBOURS * SLOT; slot += SLOT) {
      if (slots.bytes[slot] === size && isSame(input.view, begin, slots.view, slot + LENGTHS, size)) {
        makeRoom(MOST);
        const made = slots.bytes[slot + 1] as number;
        copy(slots.view, slot + LENGTHS + size, output.view, length, made);
        length += made;
        return;
      }
      if (slots.bytes[slot] === 0) {
        appendNew(slot, begin, size);
        return;
      }
    }
    appendNew(first, begin, size);
  };
  const appendNew = (slot: number, begin: number, size: number): void => {
    const stems = stemsOf(input.bytes.toString('latin1', begin, begin + size)).join(' ');
    append(stems);
    if (size + stems.length >= MOST) return;
    slots.bytes[slot] = size;
    slots.bytes[slot + 1] = stems === '' ? 0 : stems.length + 1;
    input.bytes.copy(slots.bytes, slot + LENGTHS, begin, begin + size);
    slots.bytes.write(`${stems} `, slot + LENGTHS + size, 'latin1');
  };

  return (text) => {
    if (input.bytes.length < text.length * 3 + BEHIND) input = viewOf(text.length * 4 + BEHIND);
    const { bytes } = input;
    const size = bytes.write(text);
    // Terminates the last name.
    bytes[size] = 0;
    length = 0;
    // The current run between two spaces, and where its stems start. A run with non-ASCII bytes is left to `stemsOf`.
    let stretch = 0;
    let stretchOut = 0;
    for (let at = 0; at < size; ) {
      let byte = bytes[at] as number;
      if (KINDS[byte] === WORD) {
        const begin = at;
        let hash = seed;
        for (; KINDS[byte] === WORD; byte = bytes[at] as number) {
          hash = Math.imul(hash ^ byte, 0x01000193);
          at += 1;
        }
        if ((KINDS[byte] as number) >= JOINS) {
          for (const end = endOfName(bytes, at); at < end; at += 1) {
            hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
          }
        }
        appendName(begin, at - begin, hash);
      } else if (byte >= BEYOND_ASCII) {
        while (at < size && (bytes[at] as number) > SPACE) at += 1;
        length = stretchOut;
        append(stemsOf(bytes.toString('utf8', stretch, at)).join(' '));
      } else {
        at += 1;
        if (byte > SPACE) continue;
        stretch = at;
        stretchOut = length;
      }
    }
    return output.bytes.toString('utf8', 0, Math.max(0, length - 1));
  };
}

interface View {
  readonly bytes: Buffer;
  readonly view: DataView;
}

function viewOf(size: number): View {
  const bytes = Buffer.alloc(size);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, size) };
}

function isSame(a: DataView, fromA: number, b: DataView, fromB: number, size: number): boolean {
  let i = 0;
  for (; i + 4 <= size; i += 4) if (a.getInt32(fromA + i, true) !== b.getInt32(fromB + i, true)) return false;
  const rest = MASKS[size - i] as number;
  return rest === 0 || ((a.getInt32(fromA + i, true) ^ b.getInt32(fromB + i, true)) & rest) === 0;
}

function copy(from: DataView, begin: number, to: DataView, at: number, size: number): void {
  for (let i = 0; i < size; i += 4) to.setInt32(at + i, from.getInt32(begin + i, true), true);
}

/** The end of a name whose first word ends at `from`. */
function endOfName(bytes: Buffer, from: number): number {
  let at = from;
  let byte = bytes[at] as number;
  while (KINDS[byte] === JOINS) {
    const next = at + (byte === COLON ? lengthOfColons(bytes, at) : 1);
    if (KINDS[bytes[next] as number] !== WORD) break;
    at = next + 1;
    while (KINDS[bytes[at] as number] === WORD) at += 1;
    byte = bytes[at] as number;
  }
  if (byte === SHARP) return at + 1;
  return byte === PLUS && bytes[at + 1] === PLUS ? at + 2 : at;
}

/** Length of `:`, `::` or `://`. */
function lengthOfColons(bytes: Buffer, at: number): number {
  if (bytes[at + 1] === COLON) return 2;
  return bytes[at + 1] === SLASH && bytes[at + 2] === SLASH ? 3 : 1;
}
