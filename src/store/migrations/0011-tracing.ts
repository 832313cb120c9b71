/** The `traceparent` of the span that posted the message; null where nothing is traced. */
export const tracing = `
alter table messages add column trace text;
`;
