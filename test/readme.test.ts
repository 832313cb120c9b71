import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { noBwrap } from './helpers/bwrap.ts';

const ROOT = join(import.meta.dirname, '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

function blocks(language: string): string[] {
  return [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, block]) => block as string,
  );
}

/** Without those of npm, which .ci/run executes. */
const commands = blocks('sh')
  .flatMap((block) => block.trimEnd().split('\n'))
  .filter((line) => !line.startsWith('npm '));

/** A person with an empty home and no agent program. Only the port is set, because tests run at the same time. */
function createPlace() {
  const directory = mkdtempSync(join(tmpdir(), 'readme-'));
  const home = join(directory, 'home');
  mkdirSync(join(home, '.substrat'), { recursive: true, mode: 0o700 });
  for (const name of ['bin', 'examples']) symlinkSync(join(ROOT, name), join(directory, name));
  const sandbox = noBwrap === null ? '' : '[sandbox]\nmode = "none"\n';
  writeFileSync(join(home, '.substrat/config.toml'), `[server]\nbind = "127.0.0.1:0"\n${sandbox}`);
  for (const block of blocks('ts')) {
    const name = /^\/\/ (\S+)\n/.exec(block)?.[1] ?? expect.fail('a program without a name');
    writeFileSync(join(directory, name), block);
  }
  const run = async (command: string) => {
    const child = spawn('bash', ['-c', command], {
      cwd: directory,
      env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    return { command, code, stdout, stderr };
  };
  return { directory, run };
}

test('every command of the README works, in order, in one home', { timeout: 120_000 }, async () => {
  const { directory, run } = createPlace();
  onTestFinished(async () => {
    await run('./bin/substrat daemon stop');
    rmSync(directory, { recursive: true, force: true });
  });
  expect(commands.length).toBeGreaterThan(10);
  const said: Record<string, string> = {};
  for (const command of commands) {
    const { code, stdout, stderr } = await run(command);
    expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
    said[command.split('  ')[0] as string] = stdout;
  }
  expect(said['./bin/substrat agent send counter "How many words is this?" --wait']).toContain('I count 5 words.');
  expect(said['./bin/substrat init ~/project --yes']).toContain('this team is the scripted demo');
  expect(said['./bin/ctx search "how do I roll back a payment" --config examples/knowledge/substrat.toml']).toContain(
    'payments.md',
  );
});

test('the commands that show a claim install what they need', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const shown = [...README.matchAll(/^\|.*\| `(npm [^`]+)` \|$/gm)].map(([, command]) => command as string);
  expect(shown).toHaveLength(4);
  for (const command of shown) {
    const [, script] = /^npm run (\S+)$/.exec(command) ?? [];
    const [, file] = /^npm test -- (\S+)$/.exec(command) ?? [];
    expect(scripts[script ?? 'test'], command).toMatch(/^build\/ensure-installed && /);
    expect(script !== undefined || existsSync(join(ROOT, file ?? 'none')), command).toBe(true);
  }
});
