/** What lies in the home itself and goes with it. */
export const HOME_FILES = ['node', 'token', 'config.toml'] as const;
export const HOME_FILE_BYTES = 1024 * 1024;

/** While this directory exists in a home no daemon starts there: a restore is under way, or died. */
export const RESTORING = 'restoring';
