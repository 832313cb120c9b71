import type { Context } from '../command-line/context.ts';
import { makeHome } from '../config/home.ts';
import { examineFound } from '../config/trust.ts';
import { writeRecord } from '../config/trust-records.ts';

/** Records a file that a command has just written for the person, so that it is trusted until it changes. */
export function trustOwn(context: Context, file: string): void {
  const home = context.home();
  const { record, problem } = examineFound({ file, cwd: process.cwd(), home, env: process.env });
  if (problem !== null) return;
  makeHome(home);
  writeRecord(home, record);
}
