/** The variables of an environment, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;
