import { describe, expect, test } from 'vitest';
import { ownCall, ownChanges } from './own-calls.ts';

const HOME = '/srv/space';
const command = (given: unknown) => ownCall('shell', given, HOME).input;

describe('ownCall()', () => {
  test.each([
    [{ command: 'npm test', description: 'Tests it.', timeout: 5 }],
    [{ cmd: 'npm test' }],
    [{ command: '/bin/bash -lc "npm test"', cwd: HOME }],
    [{ command: "bash -c 'npm test'", cwd: '.' }],
    [{ command: ['bash', '-lc', 'npm test'] }],
    [{ command: ['npm', 'test'] }],
  ])('has the same arguments for the same command: %j', (given) => {
    expect(command(given)).toEqual({ command: 'npm test' });
  });

  test.each([
    ["bash -lc 'npm test'; rm -r ."],
    ["bash -lc 'npm test' && rm -r ."],
    ["bash -lc 'npm test' $(rm -r .)"],
    ["bash -lc 'npm test' more"],
    ["FOO=1 bash -lc 'npm test'"],
    ["/srv/space/bash -c 'npm test'"],
    ["./bash -c 'npm test'"],
    ["bash -c\n'npm test'"],
    ["bash -c\u00a0'npm test'"],
    ['bash -c {npm,test}'],
    ['bash -c np\\\nm'],
  ])('does not take %s for the command in it', (given) => {
    expect(command({ command: given })).toEqual({ command: given });
  });

  test('unquotes what a shell would', () => {
    expect(command({ command: `/bin/bash -lc 'echo '\\''a b'\\'' "$X"'` })).toEqual({ command: `echo 'a b' "$X"` });
    expect(command({ command: ['echo', "it's"] })).toEqual({ command: "echo 'it'\\''s'" });
  });

  test('has every command, where a call has several', () => {
    const given = { command: 'npm test', cmd: 'rm -r .', cwd: '/etc' };
    expect(ownCall('shell', given, HOME)).toEqual({
      kind: 'shell',
      input: given,
      parts: [
        { command: 'npm test', cwd: '/etc' },
        { command: 'rm -r .', cwd: '/etc' },
      ],
    });
    expect(command({ command: 'ls', cmd: 'ls' })).toEqual({ command: 'ls' });
    expect(command({ command: null, cmd: 'ls' })).toEqual({ command: 'ls' });
  });

  test('shows variables of the environment, and a call without a command as it is', () => {
    const env = { NODE_OPTIONS: '--require ./x.js' };
    expect(command({ command: 'npm test', env })).toEqual({ command: 'npm test', env });
    expect(command({ chars: 'rm' })).toEqual({ given: { chars: 'rm' } });
  });

  test('names another directory', () => {
    expect(command({ command: 'ls', cwd: '/etc' })).toEqual({ command: 'ls', cwd: '/etc' });
  });

  test('has absolute paths without detours', () => {
    const { input } = ownCall('write', { file_path: 'src/../../secret', content: 'x' }, HOME);
    expect(input).toEqual({ path: '/srv/secret', content: 'x' });
    expect(ownCall('read', { path: '/a/b' }, HOME).input).toEqual({ path: '/a/b' });
  });

  test('has every path, where a call has several', () => {
    const given = { path: '/a', file_path: '/b', content: 'x' };
    const parts = [
      { path: '/a', content: 'x' },
      { path: '/b', content: 'x' },
    ];
    expect(ownCall('write', given, HOME)).toEqual({ kind: 'write', input: given, parts });
  });

  test('of several files has each of them', () => {
    const changes = [{ path: 'a' }, { path: '/b' }];
    const parts = [{ path: '/srv/space/a' }, { path: '/b' }];
    expect(ownChanges(changes, HOME)).toEqual({ kind: 'write', input: { changes: parts }, parts });
    expect(ownChanges(changes.slice(0, 1), HOME)).toEqual({ kind: 'write', input: parts[0] });
  });
});
