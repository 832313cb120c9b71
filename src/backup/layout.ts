/** Files of the home that are part of a backup. */
export const HOME_FILES = ['node', 'token', 'config.toml'] as const;
/** The directory of the home with the files that `config.toml` includes; part of a backup. */
export const TEAMS = 'teams';
export const TEAM_FILE = /^[A-Za-z0-9_][\w.-]{0,99}\.toml$/;
export const HOME_FILE_BYTES = 1024 * 1024;

/** While this directory exists in a home, no daemon starts there: a restore is running or has crashed. */
export const RESTORING = 'restoring';
