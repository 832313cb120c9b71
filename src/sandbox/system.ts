import { existsSync, lstatSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One thing that a confined program sees, with the options of bwrap that make it. */
export interface Mount {
  readonly target: string;
  readonly options: readonly string[];
}

/** Where the system's own programs are, read-only for every turn. */
const topDirectories = ['/bin', '/lib', '/lib32', '/lib64', '/libx32', '/sbin'];
export const systemDirectories = ['/usr', ...topDirectories];

const MiB = 1024 * 1024;
const TMP = 512 * MiB;
const SHARED_MEMORY = 64 * MiB;
const RUN = 16 * MiB;

/** Of the machine's own settings only these, and no secret is among them. */
const settings = [
  'alternatives',
  'ca-certificates',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'os-release',
  'pki/ca-trust',
  'pki/tls/certs',
  'ssl/certs',
  'ssl/openssl.cnf',
];

/** With root's number one may write to these without any capability. */
const rootsToWrite = ['sys', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'driver', 'sysrq-trigger', 'mtrr'];
const rootsToRead = ['kcore', 'keys', 'kmsg', 'timer_list'];

/** The system as every turn sees it. What has to be said in files is written to `directory`, which is the daemon's. */
export function systemMounts(directory: string): Mount[] {
  return [
    readOnly('/usr'),
    ...topDirectories.flatMap(topDirectory),
    ...settings.map((name) => join('/etc', name)).flatMap((path) => (existsSync(path) ? readOnly(path) : [])),
    ...writtenSettings(directory),
    { target: '/proc', options: ['--proc', '/proc'] },
    ...(process.getuid?.() === 0 ? coveredFromRoot() : []),
    { target: '/dev', options: ['--dev', '/dev'] },
    // Behind what is mounted in it: see `bwrap.ts` for the order.
    memory('/dev/shm', SHARED_MEMORY, '1777'),
    memory('/tmp', TMP, '1777'),
    memory('/run', RUN, '0755'),
  ];
}

/** Links as they are, where the system has merged them into /usr. */
function topDirectory(path: string): Mount[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  return [stats.isSymbolicLink() ? { target: path, options: ['--symlink', readlinkSync(path), path] } : readOnly(path)];
}

/** Who the program is, and that `localhost` is itself. */
function writtenSettings(directory: string): Mount[] {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const name = uid === 0 ? 'root' : 'agent';
  const files = {
    passwd: `${name}:x:${uid}:${gid}:${name}:/nonexistent:/bin/sh\n`,
    group: `${name}:x:${gid}:\n`,
    hosts: '127.0.0.1 localhost substrat\n::1 localhost substrat\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  };
  return Object.entries(files).map(([file, text]) => {
    const source = join(directory, file);
    writeFileSync(source, text, { mode: 0o600 });
    return readOnly(source, join('/etc', file));
  });
}

function coveredFromRoot(): Mount[] {
  const there = (name: string) => existsSync(join('/proc', name));
  return [
    ...rootsToWrite.filter(there).map((name) => readOnly(join('/proc', name))),
    ...rootsToRead.filter(there).map((name) => readOnly('/dev/null', join('/proc', name))),
  ];
}

function readOnly(source: string, target = source): Mount {
  return { target, options: ['--ro-bind', source, target] };
}

function memory(target: string, bytes: number, permissions: string): Mount {
  return { target, options: ['--perms', permissions, '--size', String(bytes), '--tmpfs', target] };
}
