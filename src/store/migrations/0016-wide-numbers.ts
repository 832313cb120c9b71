/**
 * Versions are compared with any number in a cursor, and a long run uses more tokens than 32 bits can count. SQLite's
 * integers are wide already.
 */
export const wideNumbers = `
/* postgres: alter table blocks alter column version type bigint */;
/* postgres: alter table block_changes alter column version type bigint */;
/* postgres: alter table runs alter column input_tokens type bigint, alter column output_tokens type bigint */;
`;
