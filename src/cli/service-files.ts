import { join } from 'node:path';

/** What a service is made of. All of it is fixed when the service is installed: a service does not have the shell's variables. */
export interface ServiceFacts {
  /** The launcher of Substrat. */
  readonly program: string;
  readonly home: string;
  readonly config: string | null;
  /** Where agent programs are found. */
  readonly path: string;
}

export interface ServiceFile {
  readonly file: string;
  readonly text: string;
  /** What makes the system use the file, and forget it. */
  readonly start: readonly string[];
  readonly stop: readonly string[];
}

const UNIT = 'substrat.service';
const LABEL = 'io.substrat.daemon';

/** A unit of the user's systemd. */
export function systemdUnit(facts: ServiceFacts, userHome: string): ServiceFile {
  // Variables are expanded in arguments, but not in the program's path or in `Environment`.
  const [program = '', ...rest] = argumentsOf(facts);
  const args = [program, ...rest.map((one) => one.replaceAll('$', '$$$$'))].map(quote).join(' ');
  const text = `[Unit]
Description=Substrat, which runs teams of AI agents

[Service]
ExecStart=${args}
Environment=${quote(`SUBSTRAT_HOME=${facts.home}`)} ${quote(`PATH=${facts.path}`)}
Restart=on-failure
RestartSec=5
# The daemon ends its agents itself; what it cannot end is killed.
KillMode=mixed
TimeoutStopSec=30

[Install]
WantedBy=default.target
`;
  return {
    file: join(userHome, '.config/systemd/user', UNIT),
    text,
    start: ['systemctl --user daemon-reload', `systemctl --user enable --now ${UNIT}`],
    stop: [`systemctl --user disable --now ${UNIT}`],
  };
}

/** An agent of the user's launchd. */
export function launchdPlist(facts: ServiceFacts, userHome: string): ServiceFile {
  const strings = argumentsOf(facts).map((one) => `    <string>${escapeXml(one)}</string>`);
  const file = join(userHome, 'Library/LaunchAgents', `${LABEL}.plist`);
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${strings.join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>SUBSTRAT_HOME</key>
    <string>${escapeXml(facts.home)}</string>
    <key>PATH</key>
    <string>${escapeXml(facts.path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
`;
  return { file, text, start: [`launchctl load -w ${file}`], stop: [`launchctl unload -w ${file}`] };
}

function argumentsOf({ program, config }: ServiceFacts): string[] {
  return [program, 'up', '--quiet', ...(config === null ? [] : ['--config', config])];
}

/** In a unit, `%` begins a specifier, and `\\` and `"` are special in quotes. */
function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
