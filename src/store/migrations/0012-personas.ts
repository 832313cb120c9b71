/** The persona that an agent was created from, and its arguments as JSON: the prompt is resolved for every run. */
export const personas = `
alter table agents add column persona text;
alter table agents add column persona_args text;
`;
