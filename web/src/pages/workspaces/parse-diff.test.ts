import { describe, expect, test } from 'vitest';
import { parseDiff } from './parse-diff.ts';

const DIFF = `diff --git a/src/a b.ts b/src/a b.ts
index 1..2 100644
--- a/src/a b.ts
+++ b/src/a b.ts
@@ -1,3 +1,3 @@ function x() {
 one
-two
+zwei
 three
@@ -10 +10,2 @@
--- a/not/a/file
+diff --git a/x b/x
++++ b/nor/this
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
diff --git a/pic.png b/pic.png
Binary files a/pic.png and b/pic.png differ
`;

describe('parseDiff()', () => {
  test('numbers the lines of each file, before and after', () => {
    const [first, second, third] = parseDiff(DIFF);
    expect(first?.path).toBe('src/a b.ts');
    expect(first?.lines.map(({ kind, before, after, text }) => [kind, before, after, text])).toEqual([
      ['hunk', null, null, 'function x() {'],
      ['same', 1, 1, 'one'],
      ['removed', 2, null, 'two'],
      ['added', null, 2, 'zwei'],
      ['same', 3, 3, 'three'],
      ['hunk', null, null, ''],
      // The content of a file that looks like a diff is content.
      ['removed', 10, null, '-- a/not/a/file'],
      ['added', null, 10, 'diff --git a/x b/x'],
      ['added', null, 11, '+++ b/nor/this'],
    ]);
    expect(second).toMatchObject({
      path: 'new.txt',
      lines: [{ kind: 'hunk' }, { kind: 'added', after: 1, text: 'hello' }],
    });
    expect(third).toMatchObject({ path: 'pic.png', lines: [], note: 'Binary files a/pic.png and b/pic.png differ' });
  });

  test('reads what is cut off, and what is not a diff', () => {
    expect(parseDiff(DIFF.slice(0, 120))[0]?.lines.length).toBeGreaterThan(0);
    expect(parseDiff('anything\n+++ b/x\n')).toEqual([]);
    expect(parseDiff('')).toEqual([]);
  });
});
