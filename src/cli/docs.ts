import type { Command } from 'commander';

/** The whole command line as a page. */
export function describeCommands(program: Command): string {
  const head = `# The command line \`${program.name()}\`

Generated from the commands by \`npm run docs\`. Every command takes \`--config FILE\` and \`--json\`: then it prints exactly one JSON
value (a stream: one a line) and nothing else on stdout. Exit codes: 0 done, 1 it failed (the error on stderr), 2 wrong usage.
With \`--json\` the error is \`{"error": {"code", "message"}}\`.

REF is a handle, a name, a path (\`lead/worker-1\`) or an id; an ambiguous one is an error that lists the candidates. Ids may be
shortened to their last 6 or more characters, as tables show them.
`;
  return `${head}${program.commands.flatMap((command) => sections(command, program.name())).join('')}`;
}

function sections(command: Command, parent: string): string[] {
  const name = `${parent} ${command.name()}`;
  if (command.commands.length > 0) return command.commands.flatMap((below) => sections(below, name));
  const rows = [
    ...command.registeredArguments.map((argument) => row(`<${argument.name()}>`, argument.description)),
    ...command.options.map((option) => row(option.flags, option.description)),
  ];
  const lines = [`\n## ${name}`, '', command.description()];
  if (rows.length > 0) lines.push('', '| | |', '| --- | --- |', ...rows);
  const example = exampleOf(command);
  if (example) lines.push('', '```sh', example, '```');
  return [`${lines.join('\n')}\n`];
}

function row(flags: string, description: string): string {
  return `| \`${flags.replaceAll('|', '\\|')}\` | ${description.replaceAll('|', '\\|')} |`;
}

/** What `--help` shows after the options. */
function exampleOf(command: Command): string | null {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  const [, example] = help.split(/\nExamples?:\n/);
  return example ? example.trimEnd().replace(/^ {2}/gm, '') : null;
}
