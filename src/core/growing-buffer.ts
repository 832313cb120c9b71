/**
 * Bytes that arrive in pieces and are taken whole. A list of pieces would cost a sender one byte and us a hundred when each
 * byte comes alone; this costs at most twice what was sent.
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

  /** What was appended since the last time. */
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
