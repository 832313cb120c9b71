import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../../test/helpers/daemon.ts';
import { callRest } from '../../test/helpers/rest.ts';
import { JSON_LIMITS } from '../core/json-bounds.ts';

let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await startDaemon();
});

afterAll(() => daemon.stop());

/** The same body with and without a declared length. */
const ways: readonly (readonly [string, (body: string) => string | Iterable<Uint8Array>])[] = [
  ['says how long it is', (body) => body],
  ['comes in chunks', (body) => [Buffer.from(body)].values()],
];

describe.each(ways)('a body that %s', (_, sent) => {
  const post = async (body: string) => {
    const answer = await callRest(daemon.home, { path: '/api/agents', body: sent(body) });
    return { status: answer.status, ...answer.body.error };
  };

  test('has at most 8 MB', async () => {
    const bytes = 8 * 1024 * 1024;
    const body = `{"name":"${'x'.repeat(bytes - 11)}"}`;
    expect(await post(body)).toMatchObject({ status: 400, message: expect.not.stringContaining('bytes') });
    expect(await post(`${body} `)).toMatchObject({ status: 413, code: 'too_large' });
  });

  test('has at most 10,000 keys and elements', async () => {
    const body = (elements: number) => `{"colour":[${Array(elements).fill('1').join(',')}]}`;
    expect(await post(body(9_999))).toMatchObject({ status: 400, message: expect.not.stringContaining('keys and') });
    const message = 'JSON may have at most 10000 keys and elements.';
    expect(await post(body(10_000))).toMatchObject({ status: 400, code: 'bad_request', message });
  });

  test('is nested at most 64 deep', async () => {
    const body = (depth: number) => `{"colour":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(await post(body(64))).toMatchObject({ status: 400, message: expect.not.stringContaining('nested') });
    const message = 'JSON may be nested at most 64 deep.';
    expect(await post(body(65))).toMatchObject({ status: 400, code: 'bad_request', message });
  });

  test('is checked against its limits before it is parsed', async () => {
    const message = expect.stringContaining('keys and elements');
    expect(await post(`${'[1,'.repeat(JSON_LIMITS.entries)} no JSON`)).toMatchObject({
      message: expect.stringContaining('nested'),
    });
    expect(await post(`[${'1,'.repeat(JSON_LIMITS.entries)} no JSON`)).toMatchObject({ message });
  });
});
