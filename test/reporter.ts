import type { Reporter, TestModule } from 'vitest/node';

/** Ends a run's output with one line for programs: `3 passed, 1 failed, 2 skipped`. */
export default class LastLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    // A failure outside a test (a file that does not load, a hook, a stray rejection) fails the run, so it counts.
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) count.failed++;
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) count.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state === 'pending' ? 'skipped' : state]++;
      }
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped}\n`);
  }
}
