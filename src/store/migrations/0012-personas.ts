/** The persona that an agent was made from, and its arguments as JSON: its prompt is made of them afresh for every run. */
export const personas = `
alter table agents add column persona text;
alter table agents add column persona_args text;
`;
