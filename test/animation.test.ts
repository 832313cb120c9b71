import { crc32, deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { animate } from '../build/animation.ts';

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const chunk = (type: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([number(data.length), named, number(crc32(named))]);
};
/** One grey pixel. */
const picture = (grey: number, width = 1): Buffer =>
  Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', Buffer.concat([number(width), number(1), Buffer.from([8, 0, 0, 0, 0])])),
    chunk('IDAT', deflateSync(Buffer.from([0, grey]))),
    chunk('IEND', Buffer.alloc(0)),
  ]);

test('pictures become the frames of one animated PNG, in order and with their times', () => {
  const made = animate([
    { png: picture(0), ms: 200 },
    { png: picture(255), ms: 90_000 },
  ]);
  const found: [string, Buffer][] = [];
  for (let at = 8; at < made.length; ) {
    const length = made.readUInt32BE(at);
    const named = made.subarray(at + 4, at + 8 + length);
    expect(made.readUInt32BE(at + 8 + length)).toBe(crc32(named));
    found.push([named.toString('latin1', 0, 4), named.subarray(4)]);
    at += length + 12;
  }
  expect(found.map(([type]) => type)).toEqual(['IHDR', 'acTL', 'fcTL', 'IDAT', 'fcTL', 'fdAT', 'IEND']);
  expect(found[1]?.[1].readUInt32BE(0)).toBe(2);
  // The numbers of the sequence count over all frames.
  expect([2, 4, 5].map((i) => found[i]?.[1].readUInt32BE(0))).toEqual([0, 1, 2]);
  expect([2, 4].map((i) => found[i]?.[1].readUInt16BE(20))).toEqual([200, 65_535]);
});

test('pictures of different sizes are refused', () => {
  const frames = [picture(0), picture(0, 2)].map((png) => ({ png, ms: 1 }));
  expect(() => animate(frames)).toThrow('differ in size');
});
