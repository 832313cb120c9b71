import { count, table } from '../fields.ts';

export const limits = table({
  tool_calls_per_minute: count({ fallback: 120, min: 1, max: 1_000_000 }),
  max_chain_depth: count({ fallback: 3, min: 0, max: 1_000 }),
  max_tree_runs: count({ fallback: 200, min: 1, max: 1_000_000_000 }),
  first_day_tokens: count({ fallback: 20_000_000, min: 0, max: 1_000_000_000_000 }),
  max_children: count({ fallback: 32, min: 0, max: 100_000 }),
  max_depth: count({ fallback: 6, min: 1, max: 1_000 }),
  max_agents: count({ fallback: 1_000, min: 1, max: 1_000_000 }),
  max_workspaces: count({ fallback: 100, min: 0, max: 100_000 }),
  max_links: count({ fallback: 100, min: 0, max: 10_000 }),
})
  .prefault({})
  .describe(
    'Limits of one tree of agents. `first_day_tokens`: what a new tree may use in its first 24 hours before it stops and asks; 0: no limit. Tool calls and workspaces are limited per agent, links per workspace.',
  );
