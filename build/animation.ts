// One animated PNG of several pictures: browsers and GitHub show it like a picture, and nothing has to be installed.
import { crc32 } from 'node:zlib';

export interface Frame {
  /** A PNG. All have one size and one kind of colour. */
  readonly png: Buffer;
  readonly ms: number;
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

export function animate(frames: readonly Frame[]): Buffer {
  const pictures = frames.map(({ png, ms }) => ({ chunks: readChunks(png), ms }));
  const header = pictures[0]?.chunks.find(({ type }) => type === 'IHDR')?.data;
  if (!header) throw new Error('There is no picture.');
  let sequence = 0;
  const body = pictures.flatMap(({ chunks, ms }, i) => {
    if (!chunks.find(({ type }) => type === 'IHDR')?.data.equals(header))
      throw new Error('The pictures differ in size.');
    const control = { type: 'fcTL', data: frameControl(sequence++, header, ms) };
    const data = chunks
      .filter(({ type }) => type === 'IDAT')
      .map((chunk) => (i === 0 ? chunk : { type: 'fdAT', data: Buffer.concat([number(sequence++), chunk.data]) }));
    return [control, ...data];
  });
  const count = { type: 'acTL', data: Buffer.concat([number(frames.length), number(0)]) };
  const all = [{ type: 'IHDR', data: header }, count, ...body, { type: 'IEND', data: Buffer.alloc(0) }];
  return Buffer.concat([SIGNATURE, ...all.map(writeChunk)]);
}

/** Number, width, height, place, delay in milliseconds; each frame replaces the last one. */
function frameControl(sequence: number, header: Buffer, ms: number): Buffer {
  const rest = Buffer.alloc(14);
  rest.writeUInt16BE(Math.min(ms, 65_535), 8);
  rest.writeUInt16BE(1000, 10);
  return Buffer.concat([number(sequence), header.subarray(0, 8), rest]);
}

function readChunks(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return chunks;
}

function writeChunk({ type, data }: Chunk): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([number(data.length), named, number(crc32(named))]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
