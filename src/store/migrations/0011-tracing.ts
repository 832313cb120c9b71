/** The `traceparent` of the span that posted the message; null if nothing is traced. */
export const tracing = `
alter table messages add column trace text;
`;
