import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { createMachine } from './machine.ts';
import type { FromThread, ScriptJob, ThreadData } from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('This file is the body of a thread.');

// The library is a single CommonJS file that loads its WebAssembly from its own directory.
const { LuaFactory } = createRequire(import.meta.url)('wasmoon') as typeof import('wasmoon');
const machine = createMachine(await new LuaFactory().getLuaModule(), workerData as ThreadData, port);
const say = (message: FromThread) => port.postMessage(message);

port.on('message', (job: ScriptJob) => say({ type: 'done', ...machine.run(job) }));
say({ type: 'ready' });
