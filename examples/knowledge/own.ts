// Personas, tools and sources of a program of one's own: node examples/knowledge/own.ts
import { createSubstrat, defineConnector, definePersona, defineTool } from 'substrat';

const dbExpert = definePersona({
  name: 'db-expert',
  description: 'Answers database design and query optimization questions',
  tools: ['search', 'get', 'run_query'],
  arguments: [{ name: 'database', description: 'Target database name' }],
  async resolve({ database = 'main' }, context) {
    const schemas = await context.search('database schema', { mode: 'keyword', limit: 5, source: 'ts:schemas' });
    const known = schemas.map(({ title, score }) => `- ${title ?? '?'} (score: ${score.toFixed(2)})`).join('\n');
    return { system: `You are a database expert for the '${database}' database.\nRelevant schema docs:\n${known}` };
  },
});

const runQuery = defineTool({
  name: 'run_query',
  description: 'Pretends to run a query',
  parameters: [{ name: 'sql', type: 'string', required: true, description: 'One statement' }],
  execute: ({ sql }) => ({ rows: [], statement: sql }),
});

const schemas = defineConnector({
  name: 'schemas',
  scan: () => [
    { source_id: 'orders.sql', title: 'orders', body: 'The database schema of orders: id, customer, total.' },
  ],
});

const substrat = await createSubstrat({
  config: new URL('substrat.toml', import.meta.url).pathname,
  personas: [dbExpert],
  tools: [runQuery],
  connectors: [schemas],
});
const synced = await substrat.sync();
console.log(`schemas: ${synced['ts:schemas']?.indexed ?? 0} indexed`);
console.log((await substrat.resolvePersona('db-expert', { database: 'shop' })).system);
console.log(JSON.stringify(await substrat.callTool('run_query', { sql: 'select 1' })));
console.log(
  substrat.personas
    .list()
    .map(({ name }) => name)
    .join(', '),
);
await substrat.close();
