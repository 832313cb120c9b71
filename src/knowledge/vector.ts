/** Vectors as they are computed with, and as the store keeps them: Float32, little-endian. */

export function ofLengthOne(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

export function toBytes(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

export function fromBytes(bytes: Buffer): Float32Array {
  // The store's bytes may not be aligned for a Float32Array.
  return new Float32Array(new Uint8Array(bytes).buffer);
}
