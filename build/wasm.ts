// Compiles dot.wat to src/knowledge/dot.wasm; a test compares the two.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import wabt from 'wabt';

const source = join(import.meta.dirname, '../src/knowledge/dot.wat');

export async function assemble(): Promise<Uint8Array> {
  const { parseWat } = await wabt();
  const module = parseWat(source, readFileSync(source, 'utf8'), { simd: true });
  return module.toBinary({}).buffer;
}

if (import.meta.main) writeFileSync(source.replace(/wat$/, 'wasm'), await assemble());
