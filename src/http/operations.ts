interface Described {
  readonly paths?: Record<string, object>;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Names every operation after its method and path: `GET /api/agents/{id}` is `getAgentsById`. */
export function withOperationIds<D extends Described>(document: D): D {
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item) as [string, { operationId?: string }][]) {
      if (METHODS.includes(method)) operation.operationId ??= operationId(method, path);
    }
  }
  return document;
}

function operationId(method: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'api');
  const words = parts.flatMap((part) =>
    part.startsWith('{') ? ['by', ...part.slice(1, -1).split(/[-_]/)] : part.split(/[-_.]/),
  );
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
