// Loaded into a daemon beside its own code: tells on SIGUSR2 how many milliseconds of CPU its main thread used at most at a
// time since it told last, that is between two turns of a timer.
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
