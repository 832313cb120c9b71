/** When the last attempt of a run failed: since when its agent rests or is parked. */
export const failedAt = `
alter table runs add column failed_at bigint;
`;
