/** Names of files and directories that usually contain keys or logins. Compared in lower case. */
const NAMES = new Set([
  '.aws',
  '.azure',
  '.credentials.json',
  '.dockercfg',
  '.docker',
  '.git-credentials',
  '.gnupg',
  '.htpasswd',
  '.kube',
  '.my.cnf',
  '.netrc',
  '.npmrc',
  '.pgpass',
  '.pypirc',
  '.ssh',
  '.terraformrc',
  '.vault-token',
  '_netrc',
  'application_default_credentials.json',
  'auth.json',
  'credentials.json',
  'gcloud',
  'secrets.toml',
  'secrets.yaml',
  'secrets.yml',
]);
const PREFIXES = ['id_rsa', 'id_dsa', 'id_ecdsa', 'id_ed25519', 'client_secret'];
const ENDINGS = ['.pem', '.key', '.p12', '.pfx', '.jks', '.keystore', '.kdbx', '.ppk'];
/** Without values: meant to be read. */
const SAMPLES = ['.example', '.sample', '.template', '.dist', '.pub'];

/** Whether a part of the path is such a name, or git's own. */
export function isHiddenPath(parts: readonly string[]): boolean {
  return parts.some((part) => part.toLowerCase() === '.git' || isCredentialName(part));
}

/** Whether a file or directory of this name is not shown and not copied, because it may contain a key. */
function isCredentialName(name: string): boolean {
  const key = name.toLowerCase();
  if (SAMPLES.some((ending) => key.endsWith(ending))) return false;
  if (key === '.env' || key.startsWith('.env.') || key.endsWith('.env') || NAMES.has(key)) return true;
  return PREFIXES.some((prefix) => key.startsWith(prefix)) || ENDINGS.some((ending) => key.endsWith(ending));
}
