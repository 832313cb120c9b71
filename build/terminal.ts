// Generates docs/terminal.svg: the output of `npm start`, from a real run with its own home. Only the home and the
// port are replaced by typical values.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const COLUMNS = 120;
const LINE = 20;
const CELL = 8.43;
const EDGE = 16;
const BAR = 36;

const root = join(import.meta.dirname, '..');
writeFileSync(join(root, 'docs/terminal.svg'), draw(['$ npm start', ...(await runDemo())].flatMap(wrap)));

/** Its output until the lead has reported. */
async function runDemo(): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'picture-'));
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, 'config.toml'), '[server]\nbind = "127.0.0.1:0"\n');
  const demo = spawn(join(root, 'bin/substrat'), ['up', '--demo'], {
    env: { ...process.env, SUBSTRAT_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  let over = false;
  for await (const line of createInterface(demo.stdout)) {
    if (over) continue;
    said.push(line.replace(home, '~/.substrat').replace(/127\.0\.0\.1:\d+/, '127.0.0.1:7331'));
    over = line.includes('reports to USER');
    if (over) demo.kill('SIGINT');
  }
  rmSync(directory, { recursive: true });
  return said;
}

function wrap(line: string): string[] {
  return line.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? [''];
}

function draw(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CELL + 2 * EDGE);
  const height = BAR + lines.length * LINE + EDGE;
  const buttons = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${EDGE + 6 + i * 20}" cy="18" r="6" fill="${fill}"/>`,
  );
  const texts = lines.map((line, i) => {
    const [, mark, rest] = /^(\$? *)(.*)$/.exec(line) as unknown as [string, string, string];
    const x = EDGE + mark.length * CELL;
    const prompt = mark.startsWith('$') ? `<text x="${EDGE}" y="${BAR + 14 + i * LINE}" fill="#7ee787">$</text>` : '';
    return `${prompt}<text x="${x}" y="${BAR + 14 + i * LINE}">${toXml(rest)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>npm start: a team of agents at work</title>
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
