import { SubstratError } from '../core/errors.ts';

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** The numbers on x86_64 and aarch64; null if the architecture does not have the call. */
type Numbers = readonly [number | null, number | null];

/**
 * Calls that an agent never needs: each could change the machine's state, inspect other processes, or bypass this
 * filter.
 */
const denied: Readonly<Record<string, Numbers>> = {
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  setns: [308, 268],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  lookup_dcookie: [212, 18],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  create_module: [174, null],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  syslog: [103, 116],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  nfsservctl: [180, 42],
  vhangup: [153, 58],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
};

/** Programs that use these fall back to other calls if the kernel reports them as missing. */
const absent: Readonly<Record<string, Numbers>> = {
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
};

const clone: Numbers = [56, 220];
const unshare: Numbers = [272, 97];
const ioctl: Numbers = [16, 29];
const socket: Numbers = [41, 198];

/**
 * NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. NEWTIME is left out: `clone` uses that bit
 * differently.
 */
const NEW_NAMESPACES = 0x7e020000;
const NEW_TIME = 0x80;
/** Both inject keystrokes into a terminal. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/**
 * Unix, IPv4, IPv6 and netlink belong to the namespace; some others reach the host of a virtual machine or kernel
 * internals.
 */
const FAMILIES = [1, 2, 10, 16];

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_BITS = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const errno = (code: number) => 0x00050000 | code;

const NUMBER = 0;
const ARCHITECTURE = 4;
/** The offset of an argument's low half on a little-endian machine. */
const argument = (index: number) => 16 + 8 * index;

interface Instruction {
  readonly code: number;
  readonly value: number;
  readonly ifTrue?: number;
  readonly ifFalse?: number;
}

const machines: Readonly<Record<string, { readonly audit: number; readonly column: 0 | 1 }>> = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
};

/** The filter in the kernel's binary format, for a program of `process.arch`. */
export function seccompFilter(arch: string): Buffer {
  const machine = machines[arch];
  if (!machine) {
    throw new SubstratError('unsupported', `There is no seccomp filter for ${arch}; the sandbox needs x64 or arm64.`);
  }
  return assemble(filter(machine.audit, machine.column));
}

function filter(audit: number, column: 0 | 1): Instruction[] {
  const numbersOf = (calls: Readonly<Record<string, Numbers>>) =>
    Object.values(calls).flatMap((numbers) => numbers[column] ?? []);
  return [
    load(ARCHITECTURE),
    ...unless(JUMP_EQUAL, audit, [give(KILL_PROCESS)]),
    load(NUMBER),
    // The x32 calls of x86_64 have other numbers for the same calls.
    ...when(JUMP_AT_LEAST, 0x40000000, [give(errno(EPERM))]),
    ...numbersOf(denied).flatMap((number) => when(JUMP_EQUAL, number, [give(errno(EPERM))])),
    ...numbersOf(absent).flatMap((number) => when(JUMP_EQUAL, number, [give(errno(ENOSYS))])),
    ...ofCall(clone[column], 0, [...when(JUMP_BITS, NEW_NAMESPACES, [give(errno(EPERM))])]),
    ...ofCall(unshare[column], 0, [...when(JUMP_BITS, NEW_NAMESPACES | NEW_TIME, [give(errno(EPERM))])]),
    ...ofCall(
      ioctl[column],
      1,
      [TIOCSTI, TIOCLINUX].flatMap((command) => when(JUMP_EQUAL, command, [give(errno(EPERM))])),
    ),
    ...ofCall(socket[column], 0, [
      ...FAMILIES.flatMap((family) => when(JUMP_EQUAL, family, [give(ALLOW)])),
      give(errno(EAFNOSUPPORT)),
    ]),
    give(ALLOW),
  ];
}

/** Checks one argument of one call; allows it if nothing decides otherwise. */
function ofCall(number: number | null, index: number, decide: readonly Instruction[]): Instruction[] {
  return when(JUMP_EQUAL, number as number, [load(argument(index)), ...decide, give(ALLOW)]);
}

function when(code: number, value: number, then: readonly Instruction[]): Instruction[] {
  return [{ code, value, ifFalse: then.length }, ...then];
}

function unless(code: number, value: number, then: readonly Instruction[]): Instruction[] {
  return [{ code, value, ifTrue: then.length }, ...then];
}

function load(offset: number): Instruction {
  return { code: LOAD, value: offset };
}

function give(verdict: number): Instruction {
  return { code: RETURN, value: verdict };
}

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, value, ifTrue = 0, ifFalse = 0 }, index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}
