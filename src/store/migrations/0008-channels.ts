/** Kept free for the channels' tables. */
export const channels = `
select 1;
`;
