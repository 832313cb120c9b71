// Loaded into a daemon: on SIGUSR2 reports how many timers it has.
import { writeFileSync } from 'node:fs';

process.on('SIGUSR2', () => {
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout');
  writeFileSync(`${process.env.SUBSTRAT_HOME}/timers`, String(timers.length));
});
