import { Command } from 'commander';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import type { Finding } from '../examine.ts';

const MARK = { ok: paint('green', 'ok  '), warning: paint('yellow', 'warn'), problem: paint('red', 'FAIL') };

export function doctorCommand(context: Context): Command {
  return new Command('doctor')
    .description('Check the installation and suggest fixes. Exit code 1 if there is a problem.')
    .addHelpText('after', '\nExample:\n  substrat doctor')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      // Its checks take longer to load than all other commands together.
      const { examine } = await import('../examine.ts');
      const findings = await examine(context.home(), options.config ?? null);
      if (options.json) context.print(JSON.stringify({ findings }));
      else for (const finding of findings) context.print(toLine(finding));
      if (findings.some((finding) => finding.state === 'problem')) process.exitCode = 1;
    });
}

function toLine({ state, what, detail, mend }: Finding): string {
  return `${MARK[state]} ${what}: ${detail}${mend ? `\n     ${mend}` : ''}`;
}
