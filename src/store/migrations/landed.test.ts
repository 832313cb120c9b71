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
  '0029-choices.ts': 'fe0af3b51427b484',
  '0030-writers.ts': 'c0862d1a1f0f6922',
  '0031-memory-search.ts': '5fb931848ffccc39',
  '0032-questions.ts': '18539a38129ec5a5',
  '0033-settings.ts': '36f18820bc6be5f3',
  '0034-pushes.ts': 'fc61b427abac3ad7',
  '0035-configured.ts': '30452fea0c48e128',
  '0036-seats.ts': '8a0553306266844d',
  '0037-takeover.ts': '30f0e6fff987d297',
  '0038-terms.ts': '010452c840af5f3f',
  '0039-gates.ts': '87b8d39be6fa61c4',
  '0040-usage.ts': '78f3bdccbf0cc187',
  '0041-history.ts': '9c2935c4564e60fd',
  '0042-cheap-guards.ts': '6e7a2e3fa913b9f9',
  '0043-steering.ts': 'e7dfb7ad68455573',
  '0044-wips.ts': '862ed726b1d966a9',
  '0045-budgets.ts': 'ab4c8b5b9932ced2',
  '0046-schedules.ts': '682e296e95dd2b2d',
  '0047-subscriptions.ts': 'be6c4fd83f13cd9f',
  '0048-progress.ts': 'df5b56d45bd1265b',
  '0049-chunk-lengths.ts': '5aa1a971e6e114b9',
  '0050-evidence.ts': '1c147f76840b3131',
  '0051-passage-vocabulary.ts': 'e713c9e5cb718c9b',
  '0052-traces.ts': '2547ec9d9633cf59',
  '0053-relative-reminders.ts': 'e3f8782bfbe55ab0',
  '0054-deletable.ts': '2811da2edc60a5b7',
  '0055-chunk-totals.ts': 'e230d94c33b1e57c',
  '0056-concurrent-syncs.ts': '70caef8d541c60c8',
  '0057-budget-zones.ts': '38fd0090652d4fa4',
  '0058-failed-attempts.ts': 'ec7754744fdd82a4',
  '0059-fewer-spread-pages.ts': '86b39de8d772e406',
  '0060-leftovers.ts': '1e84363a3c2b8118',
  '0061-schedule-payers.ts': '75e7d540b404ae71',
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
