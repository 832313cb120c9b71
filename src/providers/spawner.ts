import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Command } from '../core/command.ts';
import { withUserUmask } from '../core/umask.ts';
import { bootId, killGroup, type ProcessGroup, processStartTime } from './process-group.ts';
import type { Exit, Program } from './program.ts';

const HELPER = fileURLToPath(new URL('./spawner.cjs', import.meta.url));
/** A small heap: what it has is copied at each fork. */
const FLAGS = ['--max-semi-space-size=1', '--single-threaded'];
const KEY_BYTES = 16;
/** The key in hexadecimal digits, and the number of the descriptor. */
const NAME_LENGTH = KEY_BYTES * 2 + 1;
const IDLE_MS = 60_000;
const PATIENCE_MS = 15_000;
const ignore = () => undefined;

/** What the helper reports about a request; without an id, that it is ready. */
type Report =
  | { readonly id?: undefined }
  | { readonly id: number; readonly pid: number; readonly started: string }
  | { readonly id: number; readonly error: Pick<NodeJS.ErrnoException, 'code' | 'message' | 'syscall'> }
  | ({ readonly id: number } & Exit);

interface Job {
  readonly started: PromiseWithResolvers<ProcessGroup>;
  readonly exited: PromiseWithResolvers<Exit>;
  group: ProcessGroup | null;
}

/**
 * Starts programs by a small helper process (`spawner.cjs`), which is started with the first program and ends after a
 * minute without one. If it dies, the programs that it started are killed.
 */
export class Spawner {
  readonly #path: string;
  readonly #jobs = new Map<number, Job>();
  /** Connections that a program is about to get, by their names. */
  readonly #expected = new Map<string, (socket: Socket) => void>();
  #server: Server | null = null;
  #helper: ChildProcess | null = null;
  #isReady = false;
  #isClosed = false;
  #last = 0;
  #idle: NodeJS.Timeout | null = null;

  /** `path` is where its socket may be, in a directory that only its owner can enter. */
  constructor({ path }: { readonly path: string }) {
    this.#path = path;
  }

  /** Rejects as `spawn` fails. Returns null if the caller must start the program itself. */
  start(command: Command): Promise<Program> | null {
    if (process.platform !== 'linux' || this.#isClosed || command.files?.length) return null;
    if (this.#isReady) return this.#start(command);
    this.#open();
    return null;
  }

  close(): void {
    this.#isClosed = true;
    this.#end();
    this.#server?.close();
    // Of a daemon that was killed, if this one has started nothing.
    rmSync(this.#path, { force: true });
  }

  async #start({ file, args, cwd, env }: Command): Promise<Program> {
    if (this.#idle) clearTimeout(this.#idle);
    const id = ++this.#last;
    const key = randomBytes(KEY_BYTES).toString('hex');
    const names = [0, 1, 2].map((descriptor) => `${key}${descriptor}`);
    const job: Job = { started: Promise.withResolvers(), exited: Promise.withResolvers(), group: null };
    this.#jobs.set(id, job);
    const sockets: Socket[] = [];
    const connected = names.map(
      (name) =>
        new Promise<Socket>((resolve) => {
          this.#expected.set(name, (socket) => {
            sockets.push(socket);
            resolve(socket);
          });
        }),
    );
    this.#send({ id, key, file, args, cwd, env });
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(unavailable('is too slow')), PATIENCE_MS);
    try {
      const group = await Promise.race([job.started.promise, late.promise]);
      const all = await Promise.race([Promise.all(connected), late.promise]);
      const [stdin, stdout, stderr] = all as [Socket, Socket, Socket];
      const close = () => {
        for (const socket of sockets) socket.destroy();
      };
      const signal = (name: NodeJS.Signals) => this.#send({ id, signal: name });
      return { group, stdin, stdout, stderr, exited: job.exited.promise, signal, close };
    } catch (error) {
      this.#send({ id, signal: 'SIGKILL' });
      for (const socket of sockets) socket.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
      for (const name of names) this.#expected.delete(name);
    }
  }

  #open(): void {
    if (this.#helper) return;
    if (!this.#server) {
      rmSync(this.#path, { force: true });
      this.#server = createServer((socket) => this.#meet(socket)).on('error', ignore);
      this.#server.listen(this.#path).unref();
    }
    const helper = withUserUmask(() =>
      spawn(process.execPath, [...FLAGS, HELPER, this.#path], {
        cwd: '/',
        env: {},
        detached: true,
        stdio: ['pipe', 'pipe', 'ignore'],
      }),
    );
    this.#helper = helper;
    const lost = () => this.#lose(helper);
    helper.on('exit', lost).on('error', lost).unref();
    helper.stdin.on('error', ignore);
    let rest = '';
    helper.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(JSON.parse(line) as Report);
    });
  }

  /** Passes a connection on by its name. Nobody can guess the name of another program's connection. */
  #meet(socket: Socket): void {
    socket.on('error', ignore);
    const look = () => {
      const name: Buffer | null = socket.read(NAME_LENGTH);
      if (name === null && !socket.readableEnded && socket.readableLength < NAME_LENGTH) return;
      socket.off('readable', look);
      const take = this.#expected.get(String(name));
      if (!take) return void socket.destroy();
      take(socket);
    };
    socket.on('readable', look);
  }

  #take(report: Report): void {
    if (report.id === undefined) {
      this.#isReady = true;
      this.#rest();
      return;
    }
    const job = this.#jobs.get(report.id);
    if (!job) return;
    if ('pid' in report) {
      job.group = { pid: report.pid, startedAt: `${bootId()} ${report.started}` };
      job.started.resolve(job.group);
      return;
    }
    this.#jobs.delete(report.id);
    this.#rest();
    if ('error' in report) {
      job.started.reject(Object.assign(new Error(report.error.message), report.error));
      return;
    }
    const { exitCode, signal, isLeft } = report;
    job.exited.resolve({ exitCode, signal, isLeft });
  }

  #send(request: object): void {
    this.#helper?.stdin?.write(`${JSON.stringify(request)}\n`);
  }

  /** Ends the helper if nothing is started for a while. */
  #rest(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = this.#jobs.size > 0 ? null : setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #end(): void {
    if (this.#idle) clearTimeout(this.#idle);
    const helper = this.#helper;
    if (!helper) return;
    this.#lose(helper);
    helper.stdin?.end();
  }

  #lose(helper: ChildProcess): void {
    if (this.#helper !== helper) return;
    this.#helper = null;
    this.#isReady = false;
    const jobs = [...this.#jobs.values()];
    this.#jobs.clear();
    for (const job of jobs) void endLost(job);
  }
}

async function endLost({ group, started, exited }: Job): Promise<void> {
  if (group && processStartTime(group.pid) === group.startedAt) await killGroup(group.pid);
  started.reject(unavailable('has ended'));
  exited.resolve({ exitCode: null, signal: null, isLeft: false, isLost: true });
}

/** A failure of ours, as if the machine had run out of processes. */
function unavailable(what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`the process that starts programs ${what}`), { code: 'EAGAIN' });
}
