// Loaded into a daemon beside its own code: tells on SIGUSR2 how many timers it has.
import { writeFileSync } from 'node:fs';

process.on('SIGUSR2', () => {
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout');
  writeFileSync(`${process.env.SUBSTRAT_HOME}/timers`, String(timers.length));
});
