import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { type Context, type GlobalOptions, isJson } from '../../command-line/context.ts';
import { launchdPlist, type ServiceFacts, type ServiceFile, systemdUnit } from '../service-files.ts';

export function serviceCommand(context: Context): Command {
  return new Command('service')
    .description('Start the daemon when you log in, by systemd (Linux) or launchd (macOS).')
    .addCommand(installCommand(context))
    .addCommand(uninstallCommand(context));
}

function installCommand(context: Context): Command {
  return new Command('install')
    .description('Write the service for this home and print the commands that start it. Running it again updates it.')
    .addHelpText('after', '\nExample:\n  substrat service install')
    .action((_: unknown, command: Command) => {
      const { config, json } = command.optsWithGlobals<GlobalOptions>();
      const { file, text, start } = serviceOf(context, config);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { mode: 0o644 });
      if (json) return context.print(JSON.stringify({ file, commands: start }));
      context.print(`Wrote ${file}. Stop a daemon that runs now (\`substrat daemon stop\`), then run:`);
      for (const line of start) context.print(`  ${line}`);
      if (platform() === 'linux') context.print('`loginctl enable-linger` also starts it without a login, at boot.');
      context.print("A service does not have your shell's variables: store API keys with `substrat secret set NAME`.");
    });
}

function uninstallCommand(context: Context): Command {
  return new Command('uninstall')
    .description('Remove the service. The home and everything in it stays.')
    .addHelpText('after', '\nExample:\n  substrat service uninstall')
    .action((_: unknown, command: Command) => {
      const { file, stop } = serviceOf(context, undefined);
      const existed = existsSync(file);
      rmSync(file, { force: true });
      if (isJson(command))
        return context.print(JSON.stringify({ file, removed: existed, commands: existed ? stop : [] }));
      if (!existed) return context.print(`There is no service: ${file} does not exist.`);
      context.print(`Removed ${file}. If it is running, stop it:`);
      for (const line of stop) context.print(`  ${line}`);
    });
}

function serviceOf(context: Context, config: string | undefined): ServiceFile {
  const facts: ServiceFacts = {
    program: fileURLToPath(new URL('../../../bin/substrat', import.meta.url)),
    home: context.home(),
    config: config === undefined ? null : resolve(config),
    path: process.env.PATH ?? '/usr/bin:/bin',
  };
  return platform() === 'darwin' ? launchdPlist(facts, homedir()) : systemdUnit(facts, homedir());
}
