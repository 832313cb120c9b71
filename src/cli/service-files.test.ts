import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launchdPlist, systemdUnit } from './service-files.ts';

const facts = { program: '/opt/a b/50%$x/substrat', home: '/home/me/.substrat', config: '/etc/$c.toml', path: '/bin' };

test('a systemd unit quotes paths, and has everything that the shell would give', () => {
  const { file, text } = systemdUnit(facts, '/home/me');
  expect(file).toBe('/home/me/.config/systemd/user/substrat.service');
  expect(text).toContain('ExecStart="/opt/a b/50%%$x/substrat" "up" "--quiet" "--config" "/etc/$$c.toml"\n');
  expect(text).toContain('Environment="SUBSTRAT_HOME=/home/me/.substrat" "PATH=/bin"\n');
});

test.runIf(existsSync('/usr/bin/systemd-analyze'))('systemd accepts the unit', () => {
  const directory = mkdtempSync(join(tmpdir(), 'unit a-'));
  const program = join(directory, '50%$x');
  writeFileSync(program, '#!/bin/sh\n');
  chmodSync(program, 0o755);
  const unit = join(directory, 'substrat.service');
  writeFileSync(unit, systemdUnit({ ...facts, program }, '/home/me').text);
  try {
    const env = { PATH: process.env.PATH ?? '', HOME: directory, XDG_RUNTIME_DIR: directory };
    const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', unit], { encoding: 'utf8', env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a launchd plist escapes what XML does not take', () => {
  const { file, text } = launchdPlist({ ...facts, program: '/a&b/<substrat>', config: null }, '/Users/me');
  expect(file).toBe('/Users/me/Library/LaunchAgents/io.substrat.daemon.plist');
  expect(text).toContain('<string>/a&amp;b/&lt;substrat&gt;</string>\n    <string>up</string>');
  expect(text).not.toContain('--config');
});
