import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config/config.ts';
import type { Knowledge } from '../src/core/knowledge.ts';
import { createSubstrat } from '../src/ctx/library.ts';
import { type Extensions, openExtensions } from '../src/extensions/extensions.ts';
import { readScript } from '../src/scripting/open.ts';
import { alternate, type Bench, compared, median, type Row } from './measure.ts';

const DOCUMENTS = 200;
const RESOLVES = 200;
const PERSONAS = 200;
const QUERIES = ['payments incident', 'failover of the database', 'who is on call'];

/** Prompts of personas: a text, a script compared with the calls that it makes, and many loaded personas. */
export default async function personas({ scratch, defer }: Bench): Promise<Row[]> {
  fill(scratch);
  const substrat = await createSubstrat({ config: join(scratch, 'substrat.toml'), home: join(scratch, 'home') });
  defer(() => substrat.close());
  await substrat.sync();
  const { knowledge } = substrat;
  const text = () => timed(RESOLVES, () => substrat.resolvePersona('text', {}));
  const script = () => timed(RESOLVES, () => substrat.resolvePersona('script', {}));
  const direct = () => timed(RESOLVES, () => fiveCalls(knowledge));
  await text();
  await script();
  const measured = await alternate(direct, script);
  const texts = [await text(), await text(), await text()];
  return [
    {
      name: 'prompt of a text, p50',
      unit: 'ms',
      yardstick: null,
      result: median(texts),
      goalOf: 'result',
      atMost: 0.2,
    },
    {
      name: 'prompt of a script with 3 searches and 2 gets, warm, p50',
      unit: 'ms',
      ...compared(measured),
      goalOf: 'difference',
      atMost: 5,
    },
    {
      name: `${PERSONAS} personas loaded, half of them scripts`,
      unit: 's',
      yardstick: null,
      result: median([await loadMany(scratch), await loadMany(scratch), await loadMany(scratch)]),
      goalOf: 'result',
      atMost: 0.5,
    },
  ];
}

async function timed(times: number, work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let n = 0; n < times; n++) {
    const start = performance.now();
    await work();
    taken.push(performance.now() - start);
  }
  return median(taken);
}

async function fiveCalls(knowledge: Knowledge): Promise<void> {
  const ids: string[] = [];
  for (const query of QUERIES) {
    const { results } = await knowledge.search({ query, mode: 'keyword', limit: 5 });
    if (results[0]) ids.push(results[0].id);
  }
  for (const id of ids.slice(0, 2)) await knowledge.get(id);
}

async function loadMany(scratch: string): Promise<number> {
  const start = performance.now();
  const extensions: Extensions = await openExtensions({
    read: () => loadConfig({ file: join(scratch, 'many.toml'), cwd: scratch, home: scratch, env: {} }),
    knowledge: undefined,
    env: {},
    readScript,
    log: () => undefined,
  });
  const seconds = (performance.now() - start) / 1_000;
  const count = extensions.personas.list().length;
  await extensions.close();
  if (count !== PERSONAS) throw new Error(`${count} personas were loaded.`);
  return seconds;
}

function fill(scratch: string): void {
  for (const folder of ['docs', 'agents']) mkdirSync(join(scratch, folder));
  for (let n = 0; n < DOCUMENTS; n++) {
    const body = `# Runbook ${n}\n\nA payments incident needs a failover of the database ${n}. Who is on call answers.\n`;
    writeFileSync(join(scratch, `docs/${n}.md`), body.repeat(4));
  }
  const calls = QUERIES.map((query) => `context.search({ query = "${query}", mode = "keyword", limit = 5 })`);
  writeFileSync(
    join(scratch, 'agents/script.lua'),
    `agent = { name = "script", description = "d", tools = { "search" } }
     function agent.resolve(args, config, context)
       local a, b, c = ${calls.join(', ')}
       local first, second = context.get(a[1].id), context.get(b[1].id)
       return { system = first.body .. second.body .. #c }
     end
     return agent`,
  );
  writeFileSync(
    join(scratch, 'substrat.toml'),
    `[db]\npath = "bench.db"\n[connectors.filesystem.docs]\nroot = "docs"\n${textOf('text')}[agents.script.script]\npath = "agents/script.lua"\n`,
  );
  const many = Array.from({ length: PERSONAS / 2 }, (_, n) => {
    writeFileSync(
      join(scratch, `agents/s${n}.lua`),
      `agent = { name = "s${n}", description = "d" } function agent.resolve() return { system = "s" } end`,
    );
    return `${textOf(`t${n}`)}[agents.script.s${n}]\npath = "agents/s${n}.lua"\n`;
  });
  writeFileSync(join(scratch, 'many.toml'), many.join(''));
}

function textOf(name: string): string {
  return `[agents.${name}]\ndescription = "d"\ntools = ["search"]\nsystem_prompt = "You help."\n`;
}
