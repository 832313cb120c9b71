/** Which providers an agent's children may have in place of its own, and which take over for it. Lists, as JSON. */
export const choices = `
alter table agents add column may_spawn text;
alter table agents add column fallback text;
`;
