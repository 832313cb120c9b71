/**
 * A QR code with byte mode and error correction L, versions 1 to 9: up to 230 bytes, which is enough for an address. The
 * steps and their names are those of ISO/IEC 18004.
 */
export type Modules = readonly (readonly boolean[])[];

/** By version: data codewords, error correction codewords of a block, blocks, centres of alignment patterns. */
const VERSIONS: readonly (readonly [number, number, number, readonly number[]])[] = [
  [19, 7, 1, []],
  [34, 10, 1, [6, 18]],
  [55, 15, 1, [6, 22]],
  [80, 20, 1, [6, 26]],
  [108, 26, 1, [6, 30]],
  [136, 18, 2, [6, 34]],
  [156, 20, 2, [6, 22, 38]],
  [194, 24, 2, [6, 24, 42]],
  [232, 30, 2, [6, 26, 46]],
];
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The modules by row, dark ones are true; null if the text is too long. */
export function encodeQr(text: string): Modules | null {
  const bytes = new TextEncoder().encode(text);
  const version = VERSIONS.findIndex(([data]) => bytes.length + 2 <= data) + 1;
  const found = VERSIONS[version - 1];
  if (!found) return null;
  const [capacity, correction, blocks, centres] = found;
  const codewords = interleave(toData(bytes, capacity), correction, blocks);
  const size = 17 + 4 * version;
  const drawn = MASKS.map((mask, number) => {
    const grid = new Grid(size);
    grid.drawPatterns(version, centres);
    grid.drawFormat(number);
    grid.drawData(codewords, mask);
    return grid.modules;
  });
  return drawn.reduce((best, one) => (penaltyOf(one) < penaltyOf(best) ? one : best));
}

class Grid {
  readonly modules: boolean[][];
  readonly #fixed: boolean[][];
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
    this.modules = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
    this.#fixed = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  }

  drawPatterns(version: number, centres: readonly number[]): void {
    const last = this.#size - 1;
    for (let i = 0; i <= last; i += 1) {
      this.#set(6, i, i % 2 === 0);
      this.#set(i, 6, i % 2 === 0);
    }
    for (const [x, y] of [
      [3, 3],
      [last - 3, 3],
      [3, last - 3],
    ] as const)
      this.#square(x, y, 4, (d) => d !== 2 && d !== 4);
    for (const x of centres) {
      for (const y of centres) {
        const isFinder = (x === 6 && y === 6) || (x === 6 && y === last - 6) || (x === last - 6 && y === 6);
        if (!isFinder) this.#square(x, y, 2, (d) => d !== 1);
      }
    }
    if (version >= 7) this.#drawVersion(version);
  }

  drawFormat(mask: number): void {
    const data = (0b01 << 3) | mask;
    const bits = ((data << 10) | remainder(data, 10, 0x537)) ^ 0x5412;
    const last = this.#size - 1;
    for (let i = 0; i < 15; i += 1) {
      const bit = isSet(bits, i);
      if (i < 6) this.#set(8, i, bit);
      else if (i < 8) this.#set(8, i + 1, bit);
      else if (i === 8) this.#set(7, 8, bit);
      else this.#set(14 - i, 8, bit);
      if (i < 8) this.#set(last - i, 8, bit);
      else this.#set(8, this.#size - 15 + i, bit);
    }
    this.#set(8, this.#size - 8, true);
  }

  drawData(codewords: readonly number[], mask: (x: number, y: number) => boolean): void {
    let i = 0;
    for (let right = this.#size - 1; right > 0; right -= 2) {
      if (right === 6) right = 5;
      const isUp = ((right + 1) & 2) === 0;
      for (let step = 0; step < this.#size; step += 1) {
        const y = isUp ? this.#size - 1 - step : step;
        for (const x of [right, right - 1]) {
          const row = this.modules[y];
          if (!row || this.#fixed[y]?.[x]) continue;
          const bit = isSet(codewords[i >>> 3] ?? 0, 7 - (i & 7));
          row[x] = bit !== mask(x, y);
          i += 1;
        }
      }
    }
  }

  #drawVersion(version: number): void {
    const bits = (version << 12) | remainder(version, 12, 0x1f25);
    for (let i = 0; i < 18; i += 1) {
      const [a, b] = [this.#size - 11 + (i % 3), Math.floor(i / 3)];
      this.#set(a, b, isSet(bits, i));
      this.#set(b, a, isSet(bits, i));
    }
  }

  /** Rings around a centre; the distance decides which are dark. */
  #square(x: number, y: number, radius: number, isDark: (distance: number) => boolean): void {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) {
        this.#set(x + dx, y + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
      }
    }
  }

  #set(x: number, y: number, isDark: boolean): void {
    const [row, fixed] = [this.modules[y], this.#fixed[y]];
    if (!row || !fixed || x < 0 || x >= this.#size) return;
    row[x] = isDark;
    fixed[x] = true;
  }
}

/** Mode, length, the bytes, and padding. */
function toData(bytes: Uint8Array, capacity: number): number[] {
  const nibbles = [4, bytes.length >> 4, bytes.length & 15, ...[...bytes].flatMap((byte) => [byte >> 4, byte & 15]), 0];
  const data: number[] = [];
  for (let i = 0; i + 1 < nibbles.length; i += 2) data.push(((nibbles[i] ?? 0) << 4) | (nibbles[i + 1] ?? 0));
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad);
  return data;
}

function interleave(data: readonly number[], correction: number, count: number): number[] {
  const length = data.length / count;
  const blocks = Array.from({ length: count }, (_, i) => data.slice(i * length, (i + 1) * length));
  const checks = blocks.map((block) => divide(block, generator(correction)));
  const turns = (parts: readonly (readonly number[])[], n: number): number[] =>
    Array.from({ length: n }, (_, i) => parts.map((part) => part[i] ?? 0)).flat();
  return [...turns(blocks, length), ...turns(checks, correction)];
}

/** The generator polynomial of Reed-Solomon, without its first coefficient. */
function generator(degree: number): number[] {
  const result = Array<number>(degree).fill(0);
  result[degree - 1] = 1;
  let root = 1;
  for (let i = 0; i < degree; i += 1) {
    for (let j = 0; j < degree; j += 1) result[j] = multiply(result[j] ?? 0, root) ^ (result[j + 1] ?? 0);
    root = multiply(root, 2);
  }
  return result;
}

function divide(data: readonly number[], divisor: readonly number[]): number[] {
  const result = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (result.shift() ?? 0);
    result.push(0);
    divisor.forEach((coefficient, i) => {
      result[i] = (result[i] ?? 0) ^ multiply(coefficient, factor);
    });
  }
  return result;
}

/** In the field of 256 elements. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let i = 7; i >= 0; i -= 1) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> i) & 1) * a);
  return product;
}

/** The remainder of a BCH code. */
function remainder(data: number, degree: number, polynomial: number): number {
  let rest = data;
  for (let i = 0; i < degree; i += 1) rest = (rest << 1) ^ ((rest >>> (degree - 1)) * polynomial);
  return rest;
}

function isSet(bits: number, i: number): boolean {
  return ((bits >>> i) & 1) !== 0;
}

/** Long runs and squares of one colour are harder to read. */
function penaltyOf(modules: Modules): number {
  const columns = modules.map((_, x) => modules.map((row) => row[x] ?? false));
  let penalty = 0;
  for (const line of [...modules, ...columns]) {
    let run = 1;
    for (let i = 1; i <= line.length; i += 1) {
      if (line[i] === line[i - 1]) run += 1;
      else {
        if (run >= 5) penalty += run - 2;
        run = 1;
      }
    }
  }
  modules.forEach((row, y) => {
    row.forEach((dark, x) => {
      const below = modules[y + 1];
      if (below && dark === row[x + 1] && dark === below[x] && dark === below[x + 1]) penalty += 3;
    });
  });
  return penalty;
}
