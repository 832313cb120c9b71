// Loaded into a daemon: on SIGUSR2 reports the maximum CPU time in milliseconds that its main thread used between two
// turns of a timer since the last report.
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.SUBSTRAT_HOME) {
  let last = process.threadCpuUsage();
  let most = 0;
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    last = process.threadCpuUsage();
    most = Math.max(most, (user + system) / 1000);
  }, 1).unref();
  process.on('SIGUSR2', () => {
    const file = `${process.env.SUBSTRAT_HOME}/main-thread`;
    writeFileSync(`${file}.new`, String(most));
    renameSync(`${file}.new`, file);
    most = 0;
  });
}
