import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** One mount of a sandboxed program, with the bwrap options that create it. */
export interface Mount {
  readonly target: string;
  readonly options: readonly string[];
}

const topDirectories = ['/bin', '/lib', '/lib32', '/lib64', '/libx32', '/sbin'];
/** The directories of system programs, read-only for every turn. */
export const systemDirectories = ['/usr', ...topDirectories];

const MiB = 1024 * 1024;
const TMP = 512 * MiB;
const SHARED_MEMORY = 64 * MiB;
const RUN = 16 * MiB;

/**
 * The only files of the machine's /etc that are visible; none contains a secret. They are copied, because every mount
 * costs time.
 */
const copied = ['ld.so.cache', 'ld.so.conf', 'localtime', 'os-release', 'ssl/openssl.cnf'];
const mounted = ['alternatives', 'ssl/certs', 'pki/ca-trust', 'pki/tls/certs'];

/** The uid inside of a program that refuses to run as root, if the daemon is root. Outside it stays the daemon's. */
export const NOT_ROOT = 1000;

/** Paths that uid 0 may write or read without any capability. bwrap itself covers some others. */
const rootsToWrite = ['sys', 'sysrq-trigger', 'mtrr', 'acpi', 'driver', 'fs', 'scsi'];
const rootsToRead = ['keys', 'timer_list'];

/** The system as every turn sees it. Generated files are written to `directory`, which belongs to the daemon. */
export function systemMounts(directory: string): Mount[] {
  return [
    readOnly('/usr'),
    ...topDirectories.flatMap(topDirectory),
    ...settings(directory),
    { target: '/proc', options: ['--proc', '/proc'] },
    ...(process.getuid?.() === 0 ? coveredFromRoot() : []),
    { target: '/dev', options: ['--dev', '/dev'] },
    memory('/dev/shm', SHARED_MEMORY, '1777'),
    memory('/tmp', TMP, '1777'),
    memory('/run', RUN, '0755'),
  ];
}

/** Symlinks stay symlinks where the system has merged directories into /usr. */
function topDirectory(path: string): Mount[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  return [stats.isSymbolicLink() ? { target: path, options: ['--symlink', readlinkSync(path), path] } : readOnly(path)];
}

/** A generated /etc: the program's user, `localhost`, and the few files it needs from the machine. */
function settings(directory: string): Mount[] {
  const etc = join(directory, 'etc');
  rmSync(etc, { recursive: true, force: true });
  const place = (name: string) => {
    mkdirSync(dirname(join(etc, name)), { recursive: true, mode: 0o700 });
    return join(etc, name);
  };
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const agent = { name: 'agent', uid, gid };
  const users =
    uid === 0
      ? [
          { ...agent, name: 'root' },
          { ...agent, uid: NOT_ROOT, gid: NOT_ROOT },
        ]
      : [agent];
  const written = {
    passwd: users.map(({ name, uid, gid }) => `${name}:x:${uid}:${gid}:${name}:/nonexistent:/bin/sh\n`).join(''),
    group: users.map(({ name, gid }) => `${name}:x:${gid}:\n`).join(''),
    hosts: '127.0.0.1 localhost substrat\n::1 localhost substrat\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  };
  for (const [file, text] of Object.entries(written)) writeFileSync(place(file), text, { mode: 0o600 });
  const there = (file: string) => existsSync(join('/etc', file));
  for (const file of copied.filter(there)) {
    copyFileSync(join('/etc', file), place(file));
    chmodSync(join(etc, file), 0o600);
  }
  const inside = mounted.filter(there);
  for (const file of inside) mkdirSync(place(file), { mode: 0o700 });
  return [readOnly(etc, '/etc'), ...inside.map((file) => readOnly(join('/etc', file)))];
}

function coveredFromRoot(): Mount[] {
  const paths = (names: readonly string[]) =>
    names.map((name) => join('/proc', name)).filter((path) => existsSync(path));
  return [
    ...paths(rootsToWrite)
      .filter(hasWritable)
      .map((path) => readOnly(path)),
    ...paths(rootsToRead).map((path) => readOnly('/dev/null', path)),
  ];
}

function hasWritable(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return stats?.isFile() === true && (stats.mode & 0o222) !== 0;
  return readdirSync(path).some((name) => hasWritable(join(path, name)));
}

function readOnly(source: string, target = source): Mount {
  return { target, options: ['--ro-bind', source, target] };
}

function memory(target: string, bytes: number, permissions: string): Mount {
  return { target, options: ['--perms', permissions, '--size', String(bytes), '--tmpfs', target] };
}
