import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Samples the live bytes after a garbage collection, repeatedly and finally when called; returns the peak above the
 * start.
 */
export function watchLiveBytes(): () => number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const live = () => {
    // After one collection, the bytes of dead buffers still count as external; the next one counts them out.
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = live();
  let peak = before;
  let timer = setTimeout(sample, 20);

  function sample(): void {
    const start = performance.now();
    peak = Math.max(peak, live());
    // On a busy machine a collection takes long: the watched work must still get most of the time.
    timer = setTimeout(sample, 20 + 4 * (performance.now() - start));
  }

  return () => {
    clearTimeout(timer);
    return Math.max(peak, live()) - before;
  };
}
