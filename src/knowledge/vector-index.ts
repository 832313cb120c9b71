import { readFileSync } from 'node:fs';

/** A chunk and its approximate cosine, within the 8-bit error. */
export interface Near {
  readonly key: number;
  readonly score: number;
}

/** Memory layout: the query vector, then the sums of one block, then all vectors. */
const SUMS_AT = 65_536;
const VECTORS_AT = 2 * SUMS_AT;
const BLOCK = (VECTORS_AT - SUMS_AT) / 4;
const PAGE = 65_536;
const LARGEST = 127;

type Dot = (query: number, vectors: number, sums: number, count: number, length: number) => void;

/**
 * Vectors in memory with one byte per number: 100,000 vectors of 384 numbers take 38 MB and are scanned seven times
 * faster than in JavaScript. Callers that need exact scores compute them for the top results.
 */
export class VectorIndex {
  readonly #dimension: number;
  readonly #stride: number;
  readonly #memory: WebAssembly.Memory;
  readonly #dot: Dot;
  readonly #slots = new Map<number, number>();
  #keys = new Float64Array(1024);
  #scales = new Float32Array(1024);

  constructor(dimension: number) {
    this.#dimension = dimension;
    this.#stride = Math.ceil(dimension / 16) * 16;
    const { exports } = new WebAssembly.Instance(compile());
    this.#memory = exports.memory as WebAssembly.Memory;
    this.#dot = exports.dot as Dot;
    this.#reserve(0);
  }

  get size(): number {
    return this.#slots.size;
  }

  set(key: number, vector: Float32Array): void {
    const slot = this.#slots.get(key) ?? this.#slots.size;
    this.#reserve(slot + 1);
    this.#slots.set(key, slot);
    const scale = largest(vector) / LARGEST || 1;
    const bytes = new Int8Array(this.#memory.buffer, this.#place(slot), this.#stride);
    for (let i = 0; i < this.#dimension; i += 1) bytes[i] = Math.round((vector[i] as number) / scale);
    this.#keys[slot] = key;
    this.#scales[slot] = scale;
  }

  delete(key: number): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#slots.delete(key);
    const last = this.#slots.size;
    if (slot === last) return;
    // The last vector moves into the gap.
    const from = this.#place(last);
    new Int8Array(this.#memory.buffer).copyWithin(this.#place(slot), from, from + this.#stride);
    this.#keys[slot] = this.#keys[last] as number;
    this.#scales[slot] = this.#scales[last] as number;
    this.#slots.set(this.#keys[slot] as number, slot);
  }

  /** Returns the nearest vectors, best first. `allowed` restricts the keys; null allows all. */
  nearest(vector: Float32Array, limit: number, allowed: ReadonlySet<number> | null = null): Near[] {
    const scale = this.#ask(vector);
    const sums = new Int32Array(this.#memory.buffer, SUMS_AT, BLOCK);
    const top = new Top(limit);
    for (let first = 0; first < this.size; first += BLOCK) {
      const count = Math.min(BLOCK, this.size - first);
      this.#dot(0, this.#place(first), SUMS_AT, count, this.#stride);
      for (let i = 0; i < count; i += 1) {
        const score = (sums[i] as number) * (this.#scales[first + i] as number);
        if (score <= top.least) continue;
        const key = this.#keys[first + i] as number;
        if (allowed === null || allowed.has(key)) top.add(key, score);
      }
    }
    return top.best().map(({ key, score }) => ({ key, score: score * scale }));
  }

  /** Stores the query vector where `dot` reads it; returns the factor for its sums. */
  #ask(vector: Float32Array): number {
    // The finest scale that fits a 32-bit sum.
    const finest = Math.min(32_767, Math.floor(2 ** 31 / (LARGEST * this.#stride)) - 1);
    const scale = largest(vector) / finest || 1;
    const numbers = new Int16Array(this.#memory.buffer, 0, this.#stride).fill(0);
    for (let i = 0; i < this.#dimension; i += 1) numbers[i] = Math.round((vector[i] as number) / scale);
    return scale;
  }

  #place(slot: number): number {
    return VECTORS_AT + slot * this.#stride;
  }

  #reserve(slots: number): void {
    const missing = this.#place(slots) - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(Math.max(missing, this.#memory.buffer.byteLength / 8) / PAGE));
    if (slots <= this.#keys.length) return;
    this.#keys = enlarged(this.#keys, new Float64Array(this.#keys.length * 2));
    this.#scales = enlarged(this.#scales, new Float32Array(this.#scales.length * 2));
  }
}

/** Keeps the best of many by sorting small batches. */
class Top {
  readonly #limit: number;
  #held: Near[] = [];
  /** Scores up to this value can be skipped. */
  least = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(key: number, score: number): void {
    if (this.#held.push({ key, score }) >= 4 * this.#limit) this.best();
  }

  best(): Near[] {
    this.#held = this.#held.sort((a, b) => b.score - a.score || a.key - b.key).slice(0, this.#limit);
    if (this.#held.length === this.#limit) this.least = this.#held.at(-1)?.score ?? this.least;
    return this.#held;
  }
}

function enlarged<T extends Float64Array | Float32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

function largest(vector: Float32Array): number {
  let most = 0;
  for (const value of vector) most = Math.max(most, Math.abs(value));
  return most;
}

let compiled: WebAssembly.Module | null = null;

function compile(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./dot.wasm', import.meta.url)));
  return compiled;
}
