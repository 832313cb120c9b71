import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { Extractor } from './extractor.ts';
import { docx, pdf, pptx, xlsx, zip } from './files.testkit.ts';
import { type Format, formatOf } from './format.ts';
import { headingOf } from './heading.ts';

const extractor = new Extractor({ timeoutMs: 20_000, memoryBytes: 150 * 1024 * 1024, threads: 2 });
afterAll(() => extractor.close());

const extract = (name: string, content: string | Buffer) =>
  extractor.extract(formatOf(name) as Format, Buffer.from(content));

describe('Markdown', () => {
  test('takes title, author, times and tags from its front matter; the rest is metadata', async () => {
    const text =
      '---\ntitle: The Guide\nauthor: Ann\ndate: 2026-01-02\ntags: [a, "b c", d]\nlevel: 3\n---\n\n# Heading\n';
    expect(await extract('a.md', text)).toMatchObject({
      body: text,
      title: 'The Guide',
      author: 'Ann',
      createdAt: Date.parse('2026-01-02'),
      tags: ['a', 'd'],
      metadata: { level: 3 },
      structure: { by: 'headings' },
    });
  });

  test.each([
    ['# First\n## Second', 'First'],
    ['text\n\n## Second ##\n', 'Second'],
    ['```\n# code\n```\n# Real', 'Real'],
    ['no heading', null],
    ['---\n: : bad: [yaml\n---\n# After', 'After'],
    ['---\njust a line\n---\n# After', 'After'],
    ['---\nnever closed\n# x', 'x'],
  ])('%j has the title %j', async (text, title) => {
    expect((await extract('a.md', text)).title).toBe(title);
  });

  test('front matter with exponential aliases is not front matter', async () => {
    const bomb = `---\na: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'.replace(/./g, (name) => {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]\n`;
    })}---\n# T`;
    expect(await extract('a.md', bomb)).toMatchObject({ title: 'T', metadata: {} });
  });
});

describe('text', () => {
  test.each<[string, Buffer, string]>([
    ['UTF-8', Buffer.from('Größe 🚀'), 'Größe 🚀'],
    ['UTF-8 with a mark', Buffer.from('\ufeffx'), 'x'],
    ['UTF-16', Buffer.from('\ufeffGröße', 'utf16le'), 'Größe'],
    ['the old western encoding', Buffer.from('Gr\xf6\xdfe', 'latin1'), 'Größe'],
    ['line ends of Windows', Buffer.from('a\r\nb\rc'), 'a\nb\nc'],
  ])('in %s', async (_, bytes, body) => {
    expect((await extract('a.txt', bytes)).body).toBe(body);
  });

  test('is the format of an unknown extension, unless the bytes look binary', async () => {
    expect((await extract('Makefile', 'all:\n')).body).toBe('all:\n');
    await expect(extract('core.dump', Buffer.from([1, 2, 0, 3]))).rejects.toThrow('not a text file');
    expect(formatOf('photo.JPG')).toBeNull();
  });

  test('accepts or refuses any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const read = await extract('a.txt', Buffer.from(bytes)).catch((error: { code?: string }) => error);
        expect('body' in read ? typeof read.body : read.code).toMatch(/^(string|unsupported)$/);
      }),
    );
  });
});

describe('source code', () => {
  const names = (structure: unknown): unknown =>
    (structure as { definitions: { name: string; inside: unknown[] }[] }).definitions.map(({ name, inside }) =>
      inside.length === 0 ? name : [name, names({ definitions: inside })],
    );

  test.each([
    [
      'a.ts',
      'export class A { m(): void {} }\nexport const f = () => 1;\nfunction g() {}\ninterface I { x: 1 }',
      [['A', ['m']], 'f', 'g', 'I'],
    ],
    ['a.js', 'class A { m() {} }\nexport default function f() {}', [['A', ['m']], 'f']],
    ['a.py', 'class A:\n  def m(self):\n    pass\n\n@deco\ndef f():\n  pass\n', [['A', ['m']], 'f']],
    ['a.go', 'package a\nfunc F() {}\ntype T struct{}\nfunc (t T) M() {}\n', ['F', 'T', 'M']],
    ['a.rs', 'struct S;\nimpl S { fn m(&self) {} }\nfn f() {}\n', ['S', ['S', ['m']], 'f']],
    ['a.java', 'class A { void m() {} int x; }\n', [['A', ['m']]]],
    ['a.rb', 'class A\n  def m\n  end\nend\n', [['A', ['m']]]],
    ['a.cpp', 'namespace n { class A { void m() {} }; }\nint f(int x) { return x; }\n', [['n', [['A', ['m']]]], 'f']],
    ['a.php', '<?php\nclass A { function m() {} }\nfunction f() {}\n', [['A', ['m']], 'f']],
    ['a.cs', 'namespace N { class A { void M() {} } }\n', [['N', [['A', ['M']]]]]],
    ['a.sh', 'f() { echo; }\n', ['f']],
  ])('%s has its definitions', async (name, text, expected) => {
    const { structure, body } = await extract(name, text);
    expect(body).toBe(text);
    expect(names(structure)).toEqual(expected);
  });

  test('with syntax errors is still read', async () => {
    expect((await extract('a.ts', 'class { ((( function }}} "')).body).toContain('class');
  });
});

describe('HTML', () => {
  test('becomes Markdown without scripts and the parts around the article', async () => {
    const paragraph = `<p>${'This is the article, and it goes on for some time. '.repeat(12)}</p>`;
    const page = `<html><head><title>A &amp; B</title><meta name="author" content="Ann"><script>evil()</script></head>
      <body><nav>menu menu</nav><article><h1>A</h1><h2>Part</h2>${paragraph}<pre><code>x = 1</code></pre>${paragraph}</article></body></html>`;
    const read = await extract('a.html', page);
    expect(read).toMatchObject({ title: 'A & B', author: 'Ann', structure: { by: 'headings' } });
    expect(read.body).toContain('## Part');
    expect(read.body).toContain('x = 1');
    expect(read.body).not.toContain('evil');
    expect(read.body).not.toContain('menu');
  });

  test('without an article is kept whole', async () => {
    expect((await extract('a.html', '<h1>List</h1><ul><li>one<li>two</ul>')).body).toMatch(/# List\n\n- +one\n- +two/);
  });
});

describe('office', () => {
  test('a Word document', async () => {
    const read = await extract('a.docx', docx({ style: 'H1', text: 'Chapter' }, { text: 'Some &lt;text&gt;.' }));
    expect(read).toMatchObject({
      title: 'The title',
      author: 'Ann & Bob',
      createdAt: Date.parse('2026-01-02T03:04:05Z'),
    });
    expect(read.body).toBe('# Chapter\n\nSome <text>.');
  });

  test('a presentation, slide by slide', async () => {
    const read = await extract('a.pptx', pptx('first', 'second &amp; last'));
    expect(read.body).toBe('first\n\na note\n\nsecond & last');
    expect(read.structure).toEqual({
      by: 'parts',
      parts: [
        { headings: ['Slide 1'], from: 1, to: 3 },
        { headings: ['Slide 2'], from: 5, to: 5 },
      ],
    });
  });

  test('a workbook, one line per row', async () => {
    const sheet =
      '<worksheet><sheetData><row><c t="s"><v>0</v></c><c><v>1.5</v></c></row><row><c t="s"><v>1</v></c><c t="inlineStr"><is><t>in</t></is></c></row></sheetData></worksheet>';
    const read = await extract('a.xlsx', xlsx(sheet));
    expect(read.body).toBe('apple | 1.5\npear | in');
    expect(read.structure).toEqual({ by: 'parts', parts: [{ headings: ['Prices'], from: 1, to: 2 }] });
  });

  test('a PDF, page by page', async () => {
    const read = await extract('a.pdf', pdf(['Hello first page', 'And the second']));
    expect(read.body).toBe('Hello first page\n\nAnd the second');
    expect(read.structure).toMatchObject({
      parts: [
        { headings: ['Page 1'], from: 1 },
        { headings: ['Page 2'], from: 3 },
      ],
    });
  });
});

describe('a hostile file fails alone and quickly', () => {
  const zeros = (megabytes: number) => Buffer.alloc(megabytes * 1024 * 1024);
  /** Rewrites the size that the archive's directory declares. */
  const declaring = (megabytes: number, archive: Buffer) => {
    archive.writeUInt32LE(megabytes * 1024 * 1024, archive.indexOf('PK\x01\x02', 0, 'latin1') + 24);
    return archive;
  };
  let begin = 0;
  const hostile: [string, string, () => Buffer, RegExp][] = [
    [
      'a zip bomb',
      'a.xlsx',
      () => declaring(120, zip({ 'xl/worksheets/sheet1.xml': zeros(1) })),
      /unpacks to more than 100 MB/,
    ],
    [
      'a zip bomb as a Word document',
      'a.docx',
      () => declaring(120, zip({ 'word/document.xml': zeros(1) })),
      /unpacks to more than 100 MB/,
    ],
    [
      'an archive of too many files',
      'a.pptx',
      () => zip(Object.fromEntries(Array.from({ length: 5_001 }, (_, i) => [`f${i}`, '']))),
      /more than 5000 files/,
    ],
    ['a file that is not an archive', 'a.docx', () => Buffer.from('PK\x03\x04 nothing'), /cannot be read/],
    ['an archive without what it should have', 'a.pptx', () => zip({ a: 'x' }), /does not contain slides/],
    ['deep HTML', 'a.html', () => Buffer.from('<div>'.repeat(300_000)), /nested too deep/],
    ['a broken PDF', 'a.pdf', () => Buffer.from('%PDF-1.7\nnothing of it'), /cannot be read/],
    ['half a PDF', 'a.pdf', () => pdf(['text']).subarray(0, 300), /cannot be read/],
    ['a PDF without text', 'a.pdf', () => pdf(['']), /does not contain text/],
    [
      'a PDF that unpacks to much',
      'a.pdf',
      () => pdf(['x'], { content: deflateSync(deflateSync(zeros(300))), filter: '[/FlateDecode /FlateDecode]' }),
      /memory|cannot be read|does not contain text/,
    ],
  ];
  afterEach(async () => {
    expect(performance.now() - begin).toBeLessThan(10_000);
    // Whatever it did to its thread, the next file is read.
    expect((await extract('b.pptx', pptx('fine'))).body).toContain('fine');
  });

  test.each(hostile)('%s', async (_, name, make, message) => {
    const content = make();
    begin = performance.now();
    await expect(extract(name, content)).rejects.toThrow(message);
  });

  test('front matter that takes minutes to parse', async () => {
    const hasty = new Extractor({ timeoutMs: 1_000, memoryBytes: 150 * 1024 * 1024, threads: 1 });
    const lines = Array.from({ length: 200 }, (_, i) => `{{{{k${i}: 1`);
    begin = performance.now();
    const before = process.threadCpuUsage();
    const text = Buffer.from(`---\n${lines.join('\n')}\n---\n# x\n`);
    await expect(hasty.extract(formatOf('a.md') as Format, text)).rejects.toThrow(/timed out after 1 seconds/);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(500);
    await hasty.close();
  });

  test('a heading with a long row of marks', async () => {
    begin = performance.now();
    expect(headingOf(`# ${'#'.repeat(1_000_000)}x`)?.text).toMatch(/^#+$/);
    expect(headingOf('## Two ##')).toEqual({ level: 2, text: 'Two' });
  });

  test('an archive that declares a false size', async () => {
    const archive = declaring(0, zip({ 'xl/worksheets/sheet1.xml': zeros(30) }));
    begin = performance.now();
    const read = await extract('a.xlsx', archive).catch((error: Error) => error);
    expect(read instanceof Error || (read as { body: string }).body.length < 100).toBe(true);
  });

  test('a file that takes too long', async () => {
    const hasty = new Extractor({ timeoutMs: 30, memoryBytes: 150 * 1024 * 1024, threads: 1 });
    begin = performance.now();
    const slow = Buffer.from('<p>word <b>x</b></p>'.repeat(200_000));
    await expect(hasty.extract(formatOf('a.html') as Format, slow)).rejects.toThrow(/timed out after 0.03 seconds/);
    await hasty.close();
  });
});
