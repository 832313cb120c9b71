import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

// Hand-written because the SDK's client takes 140 ms to import in every turn, while Node itself starts in 28 ms.
// Implements the part of MCP that a scripted agent needs, over the stdio of one server.

/** An entry of `mcpServers` in an `mcp.json`. */
export interface McpServerEntry {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The result of `tools/call`. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A tool returned an error. `code` is the tool's code, or `protocol` if the call did not reach a tool. */
export class ToolError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'ToolError';
    this.code = code;
  }
}

interface Received {
  readonly id: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export interface McpClient {
  callTool(name: string, args: unknown): Promise<ToolResult>;
  listTools(): Promise<Tool[]>;
  /** Waits for pending responses, then closes the server. */
  close(): Promise<void>;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const protocolVersion = '2025-11-25';
const ignore = () => undefined;

/** Starts the server. Requests may be made immediately and run concurrently. */
export function connectMcp(entry: McpServerEntry): McpClient {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let dead: Error | null = null;

  const child = spawn(entry.command, entry.args ?? [], {
    env: { ...process.env, ...entry.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.once('error', (error) => die(`The agent's tool server could not be started: ${error.message}.`));
  child.once('close', (code, signal) => die(`The agent's tool server has exited (${signal ?? `code ${code}`}).`));
  child.stdin.on('error', ignore); // its exit code says why
  readLines(child, receive);

  const initialized = request('initialize', {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'substrat-scripted', version: '1' },
  }).then(() => send({ method: 'notifications/initialized' }));
  // Every request reports this failure; without a request it is not an unhandled rejection.
  initialized.catch(ignore);

  function request(method: string, params: object): Promise<unknown> {
    if (dead) return Promise.reject(dead);
    const id = ++lastId;
    const answer = new Promise<unknown>((resolve, reject) => pending.set(id, { resolve, reject }));
    send({ id, method, params });
    return answer;
  }

  function send(message: object): void {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  function receive(line: string): void {
    const { id, method, result, error }: Received = JSON.parse(line);
    const waiting = method === undefined ? pending.get(id) : undefined;
    if (method === 'ping') send({ id, result: {} });
    if (!waiting) return;
    pending.delete(id);
    if (error) waiting.reject(new ToolError('protocol', error.message));
    else waiting.resolve(result);
  }

  function die(message: string): void {
    dead ??= new Error(message);
    for (const { reject } of pending.values()) reject(dead);
    pending.clear();
  }

  const settled: Promise<undefined>[] = [];
  function ask(method: string, params: object): Promise<unknown> {
    const answer = initialized.then(() => request(method, params));
    settled.push(answer.then(ignore, ignore));
    return answer;
  }

  return {
    async callTool(name, args) {
      return (await ask('tools/call', { name, arguments: args })) as ToolResult;
    },
    async listTools() {
      const tools: Tool[] = [];
      let cursor: string | undefined;
      do {
        const page = (await ask('tools/list', cursor === undefined ? {} : { cursor })) as {
          tools: Tool[];
          nextCursor?: string;
        };
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    async close() {
      await Promise.all(settled);
      child.kill();
    },
  };
}

function readLines(child: ChildProcessByStdio<Writable, Readable, null>, receive: (line: string) => void): void {
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) receive(line);
  });
}
