/** Files of the home that are part of a backup. */
export const HOME_FILES = ['node', 'token', 'config.toml'] as const;
export const HOME_FILE_BYTES = 1024 * 1024;

/** While this directory exists in a home, no daemon starts there: a restore is running or has crashed. */
export const RESTORING = 'restoring';
