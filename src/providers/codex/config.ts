import { TOOLS_ADDRESS } from '../../core/endpoint-address.ts';
import { SERVER } from '../calls.ts';
import { readServer } from '../mcp-config.ts';

/** Off for every agent: another team of agents, goals, apps, and what needs a screen or slows the start down. */
const FEATURES_OFF = [
  ...['multi_agent', 'multi_agent_v2', 'goals', 'sleep_tool', 'apps', 'plugins', 'plugin_sharing', 'remote_plugin'],
  ...[
    'plugin_discovery_prefetch',
    'skill_search',
    'skill_mcp_dependency_install',
    'tool_suggest',
    'hooks',
    'worktrees',
  ],
  ...['browser_use', 'browser_use_external', 'in_app_browser', 'computer_use', 'image_generation', 'daemon_auto_start'],
  ...['realtime_conversation', 'workspace_dependencies', 'shell_snapshot'],
  // It would hide MCP tools until the model searches for them.
  'tool_search_always_defer_mcp_tools',
  // Substrat retries, and its proxy reads the requests.
  ...['unbounded_connection_retries', 'enable_request_compression'],
];
const OWN_TOOLS = ['shell_tool', 'unified_exec', 'view_image'];
/** It never asks before it uses these. */
const UNASKED = ['view_image'];

export interface Given {
  readonly ownTools: boolean;
  readonly confined: boolean;
  readonly address: string | null;
  /** Policies are about its own tools. */
  readonly guarded: boolean;
}

/** The configuration of a turn as `-c key=value`: it wins over every file, so none of an agent's applies. */
export function configArguments(
  { model, mcpConfig }: { model: string | null; mcpConfig: string },
  { ownTools, confined, address, guarded }: Given,
): string[] {
  const off = [...FEATURES_OFF, ...(ownTools ? [] : OWN_TOOLS), ...(guarded && ownTools ? UNASKED : [])];
  const settings: Record<string, Value> = {
    ...Object.fromEntries(off.map((feature) => [`features.${feature}`, false])),
    approval_policy: 'never',
    // Substrat's sandbox confines it.
    sandbox_mode: 'danger-full-access',
    check_for_update_on_startup: false,
    'analytics.enabled': false,
    'otel.exporter': 'none',
    web_search: 'disabled',
    ...(model !== null && { model }),
    ...(address !== null && { model_provider: SERVER, [`model_providers.${SERVER}`]: providerAt(address) }),
    [`mcp_servers.${SERVER}`]: {
      ...(confined ? { url: TOOLS_ADDRESS } : serverOf(mcpConfig)),
      default_tools_approval_mode: 'approve',
      tool_timeout_sec: 600,
    },
  };
  return Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${toToml(value)}`]);
}

type Value = string | number | boolean | readonly string[] | { readonly [key: string]: Value };

function providerAt(address: string): Value {
  const retries = { request_max_retries: 1, stream_max_retries: 1 };
  return { name: SERVER, base_url: address, env_key: 'OPENAI_API_KEY', wire_api: 'responses', ...retries };
}

function serverOf(mcpConfig: string) {
  const { command = '', args = [], env = {} } = readServer(mcpConfig) ?? {};
  return { command, args, env, enabled: command !== '' };
}

function toToml(value: Value): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((one) => JSON.stringify(one)).join(',')}]`;
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}=${toToml(inner)}`)
    .join(',')}}`;
}
