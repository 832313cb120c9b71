import { Command } from 'commander';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import type { Finding } from '../finding.ts';

const MARK = { ok: paint('green', 'ok  '), warning: paint('yellow', 'warn'), problem: paint('red', 'FAIL') };

export function doctorCommand(context: Context): Command {
  return new Command('doctor')
    .description('Check the installation and suggest fixes. Exit code 1 if there is a problem.')
    .option(
      '--bundle <file>',
      'also write a zip file for a bug report: findings, settings, states and the log, without secrets, messages and instructions',
    )
    .addHelpText('after', '\nExample:\n  substrat doctor --bundle report.zip')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { bundle?: string }>();
      // Its checks take longer to load than all other commands together.
      const { examine } = await import('../examine.ts');
      const findings = await examine(context.home(), options.config ?? null);
      if (options.json) context.print(JSON.stringify({ findings }));
      else for (const finding of findings) context.print(toLine(finding));
      if (options.bundle !== undefined) {
        const { writeBundle } = await import('../bundle.ts');
        const { config } = options;
        const written = await writeBundle(options.bundle, {
          home: context.home(),
          config,
          findings,
          version: context.version,
        });
        if (!options.json)
          context.print(`Wrote ${written.file} (${written.names.join(', ')}). Look into it before you send it.`);
      }
      if (findings.some((finding) => finding.state === 'problem')) process.exitCode = 1;
    });
}

function toLine({ state, what, detail, mend }: Finding): string {
  return `${MARK[state]} ${what}: ${detail}${mend ? `\n     ${mend}` : ''}`;
}
