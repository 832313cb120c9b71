// Generates docs/terminal.svg: a recording of `npm start`, from a real run with its own home. Each line appears when it
// did, but at least a moment after the one before it. Home, port, host and
// sign-in code are replaced by typical values.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const COLUMNS = 120;
const LINE = 20;
const CELL = 8.43;
const EDGE = 16;
const BAR = 36;
/** Time to read a line, in seconds. */
const MOMENT = 0.35;

interface Line {
  readonly text: string;
  /** Seconds since the command was typed. */
  readonly at: number;
}

const root = join(import.meta.dirname, '..');
writeFileSync(
  join(root, 'docs/terminal.svg'),
  draw([{ text: '$ npm start', at: 0 }, ...(await runDemo())].flatMap(wrap)),
);

/** Its output until the lead has reported. */
async function runDemo(): Promise<Line[]> {
  const directory = mkdtempSync(join(tmpdir(), 'picture-'));
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, 'config.toml'), '[server]\nbind = "127.0.0.1:0"\n');
  const demo = spawn(join(root, 'bin/substrat'), ['up', '--demo'], {
    env: { ...process.env, SUBSTRAT_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: Line[] = [];
  const begin = performance.now();
  let over = false;
  for await (const line of createInterface(demo.stdout)) {
    if (over) continue;
    const text = line
      .replace(home, '~/.substrat')
      .replace(/127\.0\.0\.1:\d+/, '127.0.0.1:7331')
      .replace(/#code=[\w-]+/, '#code=…')
      .replace(`daemon ${hostname()} `, 'daemon laptop ');
    said.push({ text, at: Math.max((performance.now() - begin) / 1000, (said.at(-1)?.at ?? 0) + MOMENT) });
    over = line.includes('reports to USER');
    if (over) demo.kill('SIGINT');
  }
  rmSync(directory, { recursive: true });
  return said;
}

function wrap({ text, at }: Line): Line[] {
  return (text.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? ['']).map((part) => ({ text: part, at }));
}

function draw(lines: readonly Line[]): string {
  const width = Math.ceil(COLUMNS * CELL + 2 * EDGE);
  const height = BAR + lines.length * LINE + EDGE;
  const buttons = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${EDGE + 6 + i * 20}" cy="18" r="6" fill="${fill}"/>`,
  );
  const texts = lines.map(({ text, at }, i) => {
    const [, mark, rest] = /^(\$? *)(.*)$/.exec(text) as unknown as [string, string, string];
    const x = EDGE + mark.length * CELL;
    const prompt = mark.startsWith('$') ? `<text x="${EDGE}" y="${BAR + 14 + i * LINE}" fill="#7ee787">$</text>` : '';
    return `${prompt}<text x="${x}" y="${BAR + 14 + i * LINE}" style="animation-delay:${at.toFixed(2)}s">${toXml(rest)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>npm start: a team of agents at work</title>
<style>
@keyframes appear { from { opacity: 0 } to { opacity: 1 } }
text { animation: appear 0.1s both }
@media (prefers-reduced-motion: reduce) { text { animation: none } }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${buttons.join('')}
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3">
${texts.join('\n')}
</g>
</svg>
`;
}

function toXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
