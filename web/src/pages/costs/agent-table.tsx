import { showCost, showCount } from '../../parts/numbers.ts';
import { href } from '../../state/route.ts';

interface Row {
  readonly agent: string;
  readonly runs: number;
  readonly failed?: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** What each agent used; with failures where they are known. */
export function AgentTable({ rows }: { readonly rows: readonly Row[] }) {
  const hasFailed = rows.some(({ failed }) => failed !== undefined);
  return (
    <table class="tbl flush">
      <thead>
        <tr>
          <th>Agent</th>
          <th class="num">Runs</th>
          {hasFailed && <th class="num">Failed</th>}
          <th class="num">Tokens</th>
          <th class="num">Cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.agent}>
            <td>
              <a class="plain" href={href('team', row.agent)}>
                {row.agent}
              </a>
            </td>
            <td class="num">{row.runs}</td>
            {hasFailed && <td class="num">{row.failed}</td>}
            <td class="num">{showCount(row.inputTokens + row.outputTokens)}</td>
            <td class="num">{showCost(row.costUsd)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
