import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { S3_KEYS, startS3 } from '../../../test/helpers/s3.ts';
import type { Connector, Item } from '../connector.ts';
import { type S3Options, s3Connector } from './s3.ts';
import { readBucketPage } from './s3-page.ts';

let server: Awaited<ReturnType<typeof startS3>>;

beforeAll(async () => {
  server = await startS3('docs');
});
afterAll(() => server.stop());

const put = (key: string, text: string) => server.put(key, text);

function open(change: Partial<S3Options> = {}): Connector {
  const rest = { bucket: 'docs', prefix: '', region: 'us-east-1', endpointUrl: server.url, credentials: S3_KEYS };
  return s3Connector({ source: 's3:test', ...rest, include: ['**'], exclude: [], tags: [], maxBytes: 1000, ...change });
}

async function list(connector: Connector): Promise<Item[]> {
  const found: Item[] = [];
  const listing = { checkpoint: null, signal: new AbortController().signal, onUnlisted: () => {} };
  for await (const items of connector.list(listing)) found.push(...items);
  return found;
}

describe('a bucket', () => {
  test('is listed page by page, with any keys', async () => {
    const strange = ['strange/a b+c.md', 'strange/ü~.md', 'strange/(1)!*.md', 'strange/日本.md', 'strange/100%.md'];
    for (const key of strange) await put(key, key);
    const connector = open({ prefix: 'strange/' });
    const items = await list(connector);
    expect(items.map(({ sourceId }) => sourceId).sort()).toEqual(strange.toSorted());
    for (const item of items) expect((await connector.read(item))?.bytes.toString()).toBe(item.sourceId);

    const many = Array.from({ length: 1_005 }, (_, i) => `many/${String(i).padStart(5, '0')}.md`);
    for (let at = 0; at < many.length; at += 50) await Promise.all(many.slice(at, at + 50).map((key) => put(key, 'x')));
    expect((await list(open({ prefix: 'many/' }))).map(({ sourceId }) => sourceId)).toEqual(many);
  });

  test('lists each object with its version, which changes with its content', async () => {
    await put('changing/a.md', 'one');
    const connector = open({ prefix: 'changing/' });
    const [before] = await list(connector);
    const read = await connector.read(before as Item);
    expect(read).toMatchObject({ bytes: Buffer.from('one'), url: 's3://docs/changing/a.md', version: before?.version });
    expect(before).toMatchObject({ size: 3, version: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(read?.updatedAt).toBeGreaterThan(Date.now() - 60_000);
    await put('changing/a.md', 'two');
    expect((await list(connector))[0]?.version).not.toBe(before?.version);
  });

  test('can be limited to globs below the prefix', async () => {
    for (const key of ['globs/a.md', 'globs/b.txt', 'globs/x/c.md', 'globs/dir/']) await put(key, 'x');
    const ids = async (change: Partial<S3Options>) =>
      (await list(open({ prefix: 'globs/', ...change }))).map(({ sourceId }) => sourceId);
    expect(await ids({ include: ['**/*.md'] })).toEqual(['globs/a.md', 'globs/x/c.md']);
    expect(await ids({ exclude: ['x/**'] })).toEqual(['globs/a.md', 'globs/b.txt']);
  });

  test('a deleted object is null, one that is too large is refused', async () => {
    await put('large.md', 'x'.repeat(1001));
    const item = { version: '', size: 1, updatedAt: null };
    expect(await open().read({ ...item, sourceId: 'gone.md' })).toBeNull();
    await expect(open().read({ ...item, sourceId: 'large.md' })).rejects.toMatchObject({ code: 'too_large' });
  });
});

describe('errors', () => {
  test.each<[string, Partial<S3Options>, RegExp]>([
    ['no such bucket', { bucket: 'none' }, /returned 404 NoSuchBucket for the bucket none/],
    [
      'a wrong secret',
      { credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'hunter2' } },
      /returned 403 SignatureDoesNotMatch/,
    ],
    [
      'a wrong key',
      { credentials: { accessKeyId: 'hunter2', secretAccessKey: 'x' } },
      /returned 403 InvalidAccessKeyId/,
    ],
    ['nobody there', { endpointUrl: 'http://127.0.0.1:11' }, /127\.0\.0\.1:11 cannot be reached \(/],
  ])('%s is reported without secrets', async (_, change, message) => {
    const failure = await list(open(change)).catch((error: Error) => error);
    expect((failure as Error).message).toMatch(message);
    expect(JSON.stringify(failure) + (failure as Error).message).not.toContain('hunter2');
  });
});

describe('a page of a bucket', () => {
  const page = (key: string, more = '') =>
    readBucketPage(
      `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>${more}` +
        `<Contents><Key>${key}</Key><ETag>&quot;e-1&quot;</ETag><Size>7</Size><Owner><ID>Key</ID></Owner></Contents></ListBucketResult>`,
    );

  test('has its keys decoded, whether escaped or encoded', () => {
    expect(page('it&#x27;s &amp; &lt;x&gt; 100%.md')).toEqual({
      objects: [{ key: "it's & <x> 100%.md", etag: 'e-1', size: 7, updatedAt: null }],
      next: null,
    });
    expect(page('a+b%2Bc%26%0A.md', '<EncodingType>url</EncodingType>').objects[0]?.key).toBe('a b+c&\n.md');
  });

  test('says where the next page begins', () => {
    const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1</NextContinuationToken>';
    expect(page('a', more).next).toBe('t&1');
  });

  test('of another kind is refused', () => {
    expect(() => readBucketPage('<html><Name>x</Name></html>')).toThrow('did not return an S3 response');
    expect(() => readBucketPage('')).toThrow('did not return an S3 response');
  });
});

test('a redirect is not followed with credentials', async () => {
  const seen: unknown[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers);
    response.end();
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const server = createServer((_, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${port}/docs` }).end('<Code>TemporaryRedirect</Code>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { ...S3_KEYS, sessionToken: 'secret' };
  await expect(list(open({ endpointUrl, credentials }))).rejects.toThrow('returned 307 TemporaryRedirect');
  expect(seen).toEqual([]);
  for (const one of [server, other]) await new Promise((resolve) => one.close(resolve));
});

test('an endless listing is refused', async () => {
  const server = createServer((_, response) => {
    const chunk = Buffer.alloc(1_000_000, '<');
    const more = () => void (response.writable && response.write(chunk, more));
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(list(open({ endpointUrl }))).rejects.toMatchObject({ code: 'too_large' });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
