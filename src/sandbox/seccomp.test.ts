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
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const ERRNO = 0x00050000;
const column = process.arch === 'x64' ? 0 : 1;

/** Name, numbers on x86_64 and aarch64, arguments, and the error. */
type Refused = [string, number | null, number | null, string, number];

/** The arguments would cause another error in the kernel, so a match shows that the filter refused. */
const refused: Refused[] = [
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
  // PTRACE_ATTACH to a process that does not exist.
  ['ptrace', 101, 117, '16, 999999, 0, 0', EPERM],
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
  ['swapon', 167, 224, '0, 0x7fffffff', EPERM],
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

/**
 * Without capabilities, the kernel returns EPERM for these anyway, or they do not exist on this machine. So only the
 * filter's own instructions can show that it refuses them.
 */
const refusedByTheKernelToo: Refused[] = [
  ['swapoff', 168, 225, '0', EPERM],
  ['syslog', 103, 116, '10, 0, 0', EPERM],
  ['acct', 163, 89, '0', EPERM],
  ['chroot', 161, 51, '0', EPERM],
  ['open_tree_attr', 467, 467, '0', EPERM],
  ['process_madvise', 440, 440, '0', EPERM],
  ['kcmp', 312, 272, '0', EPERM],
  ['fanotify_init', 300, 262, '0', EPERM],
  ['lookup_dcookie', 212, 18, '0', EPERM],
  ['create_module', 174, null, '0', EPERM],
  ['quotactl_fd', 443, 443, '0', EPERM],
  ['nfsservctl', 180, 42, '0', EPERM],
  ['vhangup', 153, 58, '0', EPERM],
  ['sethostname', 170, 161, '0', EPERM],
  ['setdomainname', 171, 162, '0', EPERM],
  ['settimeofday', 164, 170, '0', EPERM],
  ['clock_settime', 227, 112, '0', EPERM],
  ['clock_adjtime', 305, 266, '0', EPERM],
  ['adjtimex', 159, 171, '0', EPERM],
  ['iopl', 172, null, '0', EPERM],
  ['ioperm', 173, null, '0', EPERM],
  ['modify_ldt', 154, null, '0', EPERM],
];

describe.skipIf(noBwrap !== null)('under the filter', () => {
  test.each(refused)('%s is refused', (_, x64, arm64, args, errno) => {
    expect(perl(`syscall(${column === 0 ? x64 : arm64}, ${args}); print $! + 0`)).toBe(String(errno));
  });

  test.skipIf(process.arch !== 'x64')('the same calls by their x32 numbers are refused', () => {
    expect(perl('syscall(0x40000000 + 165, 0, 0, 0, 0, 0); print $! + 0')).toBe('1');
  });

  test('processes, files, sockets and threads work as usual', () => {
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
  test.each([...refused, ...refusedByTheKernelToo])(
    'refuses %s on both architectures',
    (_, x64, arm64, args, errno) => {
      if (x64 !== null) expect(verdict('x64', AUDIT.x64, x64, args)).toBe(ERRNO + errno);
      if (arm64 !== null) expect(verdict('arm64', AUDIT.arm64, arm64, args)).toBe(ERRNO + errno);
    },
  );

  test.each([
    ['read', 0, 63, '0, 0, 0'],
    ['execve', 59, 221, '0, 0, 0'],
    ['clone of a thread', 56, 220, '0x3d0f00, 0, 0, 0, 0'],
    ['unshare of files', 272, 97, '0x400'],
    ['ioctl TCGETS', 16, 29, '0, 0x5401, 0'],
    ['a local socket', 41, 198, '1, 1, 0'],
    ['inotify_init1', 294, 26, '0'],
  ])('allows %s on both architectures', (_, x64, arm64, args) => {
    expect(verdict('x64', AUDIT.x64, x64, args)).toBe(ALLOW);
    expect(verdict('arm64', AUDIT.arm64, arm64, args)).toBe(ALLOW);
  });

  test('kills a process that uses the numbers of another architecture', () => {
    expect(verdict('x64', AUDIT.arm64, 63, '0')).toBe(KILL);
    expect(verdict('arm64', AUDIT.x64, 0, '0')).toBe(KILL);
  });

  test('is a whole number of instructions that end with a verdict, on both architectures', () => {
    for (const arch of ['x64', 'arm64']) {
      const bytes = seccompFilter(arch);
      expect(bytes.length % 8).toBe(0);
      expect(bytes.readUInt16LE(bytes.length - 8)).toBe(0x06);
    }
  });

  test('refuses an unknown architecture', () => {
    expect(() => seccompFilter('riscv64')).toThrow(/x64 or arm64/);
  });
});

/** Simulates the filter: what the kernel would do with a call. */
function verdict(arch: keyof typeof AUDIT, audit: number, number: number, args: string): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.split(', ').entries()) {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  }
  const program = seccompFilter(arch);
  const jumps: Record<number, (value: number, k: number) => boolean> = {
    21: (value, k) => value === k,
    53: (value, k) => value >= k,
    69: (value, k) => (value & k) !== 0,
  };
  let loaded = 0;
  for (let at = 0; ; at += 8) {
    const code = program.readUInt16LE(at);
    const k = program.readUInt32LE(at + 4);
    if (code === 0x06) return k;
    if (code === 0x20) loaded = data.readUInt32LE(k);
    else at += 8 * program.readUInt8(at + (jumps[code]?.(loaded, k) ? 2 : 3));
  }
}

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
