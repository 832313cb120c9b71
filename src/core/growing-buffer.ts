/**
 * Collects bytes that arrive in pieces. A list of pieces would cost about a hundred bytes of memory per piece, so a
 * peer could send single bytes to exhaust it; this buffer takes at most twice what was sent.
 */
export class GrowingBuffer {
  #bytes = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#size);
    this.#size = size;
  }

  /** Returns what was appended since the last call. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#size);
    this.clear();
    return taken;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#size = 0;
  }
}
