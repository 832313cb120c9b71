import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { noBwrap } from '../../test/helpers/bwrap.ts';
import { seccompFilter } from './seccomp.ts';

const directory = mkdtempSync(join(tmpdir(), 'seccomp-'));
const filter = join(directory, 'filter');
writeFileSync(filter, process.platform === 'linux' ? seccompFilter(process.arch) : '');
afterAll(() => rmSync(directory, { recursive: true }));

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const column = process.arch === 'x64' ? 0 : 1;

/** Each with all arguments that it looks at; the numbers on x86_64 and aarch64. */
const refused: [string, number, number, string, number][] = [
  ['mount', 165, 40, '0, 0, 0, 0, 0', EPERM],
  ['umount2', 166, 39, '0, 0', EPERM],
  ['pivot_root', 155, 41, '0, 0', EPERM],
  ['move_mount', 429, 429, '-1, 0, -1, 0, 0', EPERM],
  ['open_tree', 428, 428, '-1, 0, 0', EPERM],
  ['fsopen', 430, 430, '0, 0', EPERM],
  ['fsconfig', 431, 431, '-1, 0, 0, 0, 0', EPERM],
  ['fsmount', 432, 432, '-1, 0, 0', EPERM],
  ['fspick', 433, 433, '-1, 0, 0', EPERM],
  ['mount_setattr', 442, 442, '-1, 0, 0, 0, 0', EPERM],
  ['ptrace', 101, 117, '0, 0, 0, 0', EPERM],
  ['process_vm_readv', 310, 270, '1, 0, 0, 0, 0, 0', EPERM],
  ['process_vm_writev', 311, 271, '1, 0, 0, 0, 0, 0', EPERM],
  ['pidfd_getfd', 438, 438, '-1, 0, 0', EPERM],
  ['add_key', 248, 217, '0, 0, 0, 0, 0', EPERM],
  ['request_key', 249, 218, '0, 0, 0, 0', EPERM],
  ['keyctl', 250, 219, '0, -3, 0', EPERM],
  ['bpf', 321, 280, '0, 0, 0', EPERM],
  ['kexec_load', 246, 104, '0, 0, 0, 0', EPERM],
  ['kexec_file_load', 320, 294, '-1, -1, 0, 0, 0', EPERM],
  ['init_module', 175, 105, '0, 0, 0', EPERM],
  ['finit_module', 313, 273, '-1, 0, 0', EPERM],
  ['delete_module', 176, 106, '0, 0', EPERM],
  ['perf_event_open', 298, 241, '0, 0, 0, 0, 0', EPERM],
  ['userfaultfd', 323, 282, '1', EPERM],
  ['reboot', 169, 142, '0, 0, 0, 0', EPERM],
  ['swapon', 167, 224, '0, 0', EPERM],
  ['swapoff', 168, 225, '0', EPERM],
  ['syslog', 103, 116, '10, 0, 0', EPERM],
  ['acct', 163, 89, '0', EPERM],
  ['quotactl', 179, 60, '0, 0, 0, 0', EPERM],
  ['open_by_handle_at', 304, 265, '-1, 0, 0', EPERM],
  ['name_to_handle_at', 303, 264, '-1, 0, 0, 0, 0', EPERM],
  ['setns', 308, 268, '-1, 0', EPERM],
  ['unshare of a user namespace', 272, 97, '0x10000000', EPERM],
  ['unshare of a mount namespace', 272, 97, '0x20000', EPERM],
  ['unshare of a time namespace', 272, 97, '0x80', EPERM],
  ['clone into a user namespace', 56, 220, '0x10000011, 0, 0, 0, 0', EPERM],
  ['clone into a network namespace', 56, 220, '0x40000011, 0, 0, 0, 0', EPERM],
  ['clone3', 435, 435, '0, 0', ENOSYS],
  ['io_uring_setup', 425, 425, '1, 0', ENOSYS],
  ['io_uring_enter', 426, 426, '-1, 0, 0, 0, 0', ENOSYS],
  ['io_uring_register', 427, 427, '-1, 0, 0, 0', ENOSYS],
  ['ioctl TIOCSTI', 16, 29, '0, 0x5412, 0', EPERM],
  ['ioctl TIOCSTI with a high bit', 16, 29, '0, 0x100005412, 0', EPERM],
  ['ioctl TIOCLINUX', 16, 29, '0, 0x541c, 0', EPERM],
  ['a socket to the host of a virtual machine', 41, 198, '40, 1, 0', EAFNOSUPPORT],
  ['a socket into the kernel’s cryptography', 41, 198, '38, 5, 0', EAFNOSUPPORT],
];

describe.skipIf(noBwrap !== null)('under the filter', () => {
  test.each(refused)('%s is refused', (_, x64, arm64, args, errno) => {
    expect(perl(`syscall(${column === 0 ? x64 : arm64}, ${args}); print $! + 0`)).toBe(String(errno));
  });

  test.skipIf(process.arch !== 'x64')('the same calls by their x32 numbers are refused', () => {
    expect(perl('syscall(0x40000000 + 165, 0, 0, 0, 0, 0); print $! + 0')).toBe('1');
  });

  test('processes, files, sockets and threads are as ever', () => {
    expect(perl('print `echo $$` > 0 ? "child" : "none"')).toBe('child');
    expect(perl('use Socket; print socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) ? "pair" : $!')).toBe('pair');
    const script = `
      const { Worker } = require('node:worker_threads');
      const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
        new Worker('require("node:worker_threads").parentPort.postMessage("thread")', { eval: true })
          .on('message', (said) => { console.log(said); server.close(); });
      });`;
    expect(inside(process.execPath, ['-e', script])).toEqual({ status: 0, stdout: 'thread\n', stderr: '' });
  });
});

describe('seccompFilter()', () => {
  test('is a whole number of instructions that end with a verdict, on both machines', () => {
    for (const arch of ['x64', 'arm64']) {
      const bytes = seccompFilter(arch);
      expect(bytes.length % 8).toBe(0);
      expect(bytes.readUInt16LE(bytes.length - 8)).toBe(0x06);
    }
  });

  test('refuses a machine that it does not know', () => {
    expect(() => seccompFilter('riscv64')).toThrow(/x64 or arm64/);
  });
});

function perl(script: string): string {
  return inside('perl', ['-e', script]).stdout;
}

function inside(file: string, args: readonly string[]) {
  const options = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
  const descriptor = openSync(filter, 'r');
  const { status, stdout, stderr } = spawnSync('bwrap', [...options, '--seccomp', '3', '--', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', descriptor],
    encoding: 'utf8',
  });
  closeSync(descriptor);
  return { status, stdout, stderr };
}
