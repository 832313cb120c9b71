import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { explainConfig } from '../src/config/explain.ts';
import { withEventTable } from '../src/http/event-docs.ts';

const root = join(import.meta.dirname, '..');

test('the Claude Agent SDK example in the docs is the compiled one', () => {
  const [, example] =
    /```ts\n(import \{ createSdkMcpServer[\s\S]*?)```/.exec(readFileSync(join(root, 'docs/channels.md'), 'utf8')) ?? [];
  expect(example).toBe(readFileSync(join(root, 'examples/agent-sdk.ts'), 'utf8'));
});

test('the table of events in docs/api.md is made from their definitions', () => {
  const page = readFileSync(join(root, 'docs/api.md'), 'utf8');
  expect(page).toContain('| `message_created` |');
  expect(withEventTable(page)).toBe(page);
});

test('package.json, its lock file and the newest section of the changelog name one version', () => {
  const versionIn = (file: string) =>
    (JSON.parse(readFileSync(join(root, file), 'utf8')) as { version: string }).version;
  const [heading] = /^## .*$/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) ?? [];
  expect(heading?.split(' ').at(-1)).toBe(versionIn('package.json'));
  expect(versionIn('package-lock.json')).toBe(versionIn('package.json'));
});

test('the glossary has each word once, in order', () => {
  const page = readFileSync(join(root, 'docs/glossary.md'), 'utf8');
  const words = [...page.matchAll(/^\| (?!word \||---)([^|]+) \|/gm)].map(([, word = '']) => word.toLowerCase());
  expect(words.length).toBeGreaterThan(100);
  expect(words).toEqual([...new Set(words)].sort());
});

test('docs/configuration.md lists every setting, with its default where it says so', () => {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
  const [, named = '', block = ''] =
    /Unknown keys are errors\. ([^;]*) show\s+the defaults;[\s\S]*?```toml\n([\s\S]*?)```/.exec(page) ?? [];
  const cwd = mkdtempSync(join(tmpdir(), 'docs-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const options = (text: string) => {
    const file = join(cwd, 'substrat.toml');
    writeFileSync(file, text);
    const env = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [`${name}`, 'x'.repeat(40)]));
    return { file, cwd, home: join(cwd, 'home'), env };
  };
  loadConfig(options(block));

  const tables = new Map(block.split(/^(?=\[)/m).map((table) => [/^\[[^\]]*\]/.exec(table)?.[0] ?? '', table]));
  const defaults = [...named.matchAll(/`(\[\w+\])`/g)].map(([, name = '']) => tables.get(name) ?? '');
  expect(defaults).toHaveLength(8);
  const documented = defaults.join('').replaceAll(/^.*\bdefault\b.*$/gm, '');
  expect({ ...loadConfig(options(documented)), file: null }).toEqual({ ...loadConfig(options('')), file: null });

  const isListed = (key: string) => {
    const [section, ...rest] = key.split('.');
    return new RegExp(`^(# )?${rest.join('.')} = `, 'm').test(tables.get(`[${section}]`) ?? '');
  };
  const keys = explainConfig(options('')).settings.map(({ key }) => key);
  expect(keys.length).toBeGreaterThan(50);
  expect(keys.filter((key) => !isListed(key))).toEqual([]);
});

test('every link between the pages leads to a file and, if it names one, to a heading', () => {
  const prose = (file: string) => readFileSync(file, 'utf8').replaceAll(/```[\s\S]*?```/g, '');
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-');
  const headings = (file: string) => [...prose(file).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => anchorOf(text));
  const docs = readdirSync(join(root, 'docs')).map((name) => `docs/${name}`);
  const pages = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...docs];
  const links = pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => [...prose(join(root, page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => ({ page, to })))
    .filter(({ to }) => !/^https?:/.test(to));
  const isBroken = ({ page, to }: { page: string; to: string }) => {
    const [path = '', anchor] = to.split('#');
    const file = path === '' ? join(root, page) : join(root, dirname(page), path);
    return !existsSync(file) || (anchor !== undefined && !headings(file).includes(anchor));
  };
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(isBroken)).toEqual([]);
});
