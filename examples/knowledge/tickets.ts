// A pretended ticket server: POST /tickets makes a ticket, GET /tickets/KEY shows it. node examples/knowledge/tickets.ts [port]
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const tickets = new Map<string, unknown>();

const server = createServer(async (request, response) => {
  const answer = (status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (request.method === 'POST' && request.url === '/tickets') {
    const key = `OPS-${tickets.size + 1}`;
    tickets.set(key, await json(request).catch(() => null));
    return answer(201, { key });
  }
  const found = tickets.get(request.url?.replace('/tickets/', '') ?? '');
  return found === undefined ? answer(404, { error: 'there is no such ticket' }) : answer(200, found);
});

server.listen(Number(process.argv[2] ?? 7399), '127.0.0.1', () =>
  console.log(`tickets at 127.0.0.1:${(server.address() as AddressInfo).port}`),
);
