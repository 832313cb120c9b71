/** Why each attempt of a run failed that was followed by another one. */
export const failedAttempts = `
alter table runs add column failed_attempts text;
`;
