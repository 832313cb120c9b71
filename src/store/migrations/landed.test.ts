import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/**
 * A landed migration has run on existing stores: editing it would leave them with another schema. A new migration
 * adds a line here; the other lines never change.
 */
const LANDED: Readonly<Record<string, string>> = {
  '0001-heart.ts': '2096f230824571aa',
  '0002-door.ts': '5112568e237c8eb8',
  '0003-fewer-pages.ts': 'aa040769574e6986',
  '0004-sessions.ts': '6e53c9ff788659f8',
  '0005-workspaces.ts': '62469d9b9960f478',
  '0006-inbox.ts': '65a45e13c61bcdce',
  '0007-memory.ts': '4f0d77da774b3ef6',
  '0008-channels.ts': 'b25c209908f008f5',
  '0009-knowledge.ts': '8029d3ddd7830bde',
  '0010-vectors.ts': '8f1fceb721e09215',
  '0011-tracing.ts': '4b561838492f0c62',
  '0012-personas.ts': '6a431c22d9377757',
  '0013-records.ts': '500e80efe13a8f95',
  '0014-bulk-words.ts': 'c7e85b744f1ff2f9',
  '0015-nodes.ts': '7864accf5cd7c1df',
  '0016-wide-numbers.ts': '6b18ea61ff5ee02b',
  '0017-deaths.ts': '45b5fd84c3f96b8e',
  '0018-payers.ts': 'ce2f4a3f538b2c12',
  '0019-retention.ts': 'a4c3099e0c04581c',
  '0020-broadcasts.ts': 'ef9ab76c49d69746',
  '0021-timers.ts': '4e43932a089631df',
  '0022-sessions.ts': '9e59a17618959310',
  '0023-page-tokens.ts': 'bc09a55716d2db21',
  '0024-failed-at.ts': '4cc071e6744730bb',
  '0025-conversations.ts': 'b9297b7a128967a8',
  '0026-fleet.ts': 'fb212dd3bdbb66bb',
  '0027-reminders.ts': '7c48f23abd0ce973',
  '0028-attachments.ts': '1fdb5177d002b6ed',
};

test('landed migrations are never edited, and every one is listed here', async () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /^\d{4}-[a-z-]+\.ts$/.test(name));
  const found: Record<string, string> = {};
  for (const file of files.sort()) {
    const texts = Object.values((await import(join(import.meta.dirname, file))) as Record<string, string>);
    expect(texts, file).toHaveLength(1);
    found[file] = hash('sha256', texts[0] as string).slice(0, 16);
  }
  expect(found).toEqual(LANDED);
});
