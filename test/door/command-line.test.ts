import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { type Candidate, complete } from '../../src/command-line/complete.ts';
import { createProgram as createCtx } from '../../src/ctx/program.ts';
import { launcher, runSubstrat } from '../helpers/substrat.ts';

const home = mkdtempSync(join(tmpdir(), 'line-'));
afterAll(() => rmSync(home, { recursive: true }));

describe('every command', () => {
  const leaves = (command: Command, path: string): [string, Command][] => [
    ...(command.commands.length === 0 ? [[path, command] as [string, Command]] : []),
    ...command.commands.flatMap((one) => leaves(one, `${path} ${one.name()}`)),
  ];

  test.each([
    ['substrat', createProgram],
    ['ctx', createCtx],
  ])('of %s has a description and an example that calls it', async (name, create) => {
    const wrong = leaves(await create('0.0.0'), name).flatMap(([path, command]) => {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) });
      command.outputHelp();
      const [, example = ''] = help.split(/\nExamples?:\n/);
      return command.description() !== '' && example.includes(path) ? [] : [path];
    });
    expect(wrong).toEqual([]);
  });
});

describe('an error', () => {
  test.each([
    [['agent', 'list', '--frob'], 2, 'usage', "Unknown option '--frob'. Add --help for usage."],
    [
      ['send', 'lead', 'hi'],
      2,
      'usage',
      "Unknown command 'send'. Did you mean `substrat agent send`? Add --help for usage.",
    ],
    [['agnt'], 2, 'usage', "Unknown command 'agnt'. Did you mean agent? Add --help for usage."],
    [['agent', 'create', 'x', '--arg', 'a=b'], 2, 'usage', '--arg requires --persona.'],
    [['agent'], 2, 'usage', 'Name a subcommand; --help lists them.'],
    [['agent', 'list'], 1, 'not_running', `No daemon is running on ${home}.`],
  ])('%j has one form for people, and is JSON with its code if that is asked for', async (args, code, kind, text) => {
    const asJson = await runSubstrat([...args, '--json'], { home });
    expect(asJson).toMatchObject({ code, stdout: '' });
    expect(JSON.parse(asJson.stderr)).toEqual({ error: { code: kind, message: expect.stringContaining(text) } });
    const plain = await runSubstrat(args, { home });
    expect(plain).toMatchObject({ code, stdout: '' });
    expect(plain.stderr).toMatch(args.length === 1 && args[0] === 'agent' ? /^Usage: / : /^substrat: [-A-Z]/);
  });
});

describe('complete', () => {
  const values = async (placeholder: string): Promise<Candidate[]> => [{ word: `any-${placeholder}`, about: '' }];
  const words = async (...given: string[]) =>
    (await complete(await createProgram('0.0.0'), given, values)).map(({ word }) => word);

  test('offers commands, then arguments, then options, also after arguments', async () => {
    expect(await words('ag')).toEqual(['agent']);
    expect(await words('agent', 'ins')).toEqual(['inspect']);
    expect(await words('agent', 'inspect', '')).toEqual(['any-ref']);
    expect(await words('agent', 'send', 'lead', 'hi', '--w')).toEqual(['--wait']);
    expect(await words('agent', 'create', 'x', '--provider', '')).toEqual(['any-provider']);
    expect(await words('run', 'list', '--state', 'cr')).toEqual(['created']);
    expect(await words('--config', 'file', 'agent', 'l')).toEqual(['list']);
    expect(await words('inbox', 'reply', '')).toEqual(['any-message']);
    expect(await words('agent', 'list', '--js')).toEqual(['--json']);
    expect(await words('channel', 'wake', 'general', 'lead', '')).toEqual(['all', 'mentions', 'none']);
  });

  test('never offers a word that a shell would run', async () => {
    const evil = async () => [{ word: '$(reboot)', about: '' }];
    expect(await complete(await createProgram('0.0.0'), ['agent', 'inspect', ''], evil)).toEqual([]);
  });

  test('works in bash, without a daemon', async () => {
    const { stdout } = await runSubstrat(['completions', 'bash'], { home });
    const typed = `${stdout}\nCOMP_WORDS=(${launcher} agent create x --provider c); COMP_CWORD=5; _substrat; echo "\${COMPREPLY[*]}"`;
    const env = { PATH: process.env.PATH ?? '', HOME: home, SUBSTRAT_HOME: home };
    expect(execFileSync('bash', ['-c', typed], { encoding: 'utf8', env })).toMatch(/^claude codex /);
  });
});
