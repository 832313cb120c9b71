import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AwsClient } from 'aws4fetch';

/** The credentials that the server accepts. */
export const S3_KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

/** An S3 server in its own process, with one bucket. */
export async function startS3(bucket: string) {
  const directory = mkdtempSync(join(tmpdir(), 'substrat-s3-'));
  const program = join(import.meta.dirname, '../fixtures/s3-server.mjs');
  const child = spawn(process.execPath, ['--openssl-legacy-provider', program, directory, bucket], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const [port] = await createInterface({ input: child.stdout })
    [Symbol.asyncIterator]()
    .next()
    .then(({ value }) => [Number(value)]);
  const url = `http://127.0.0.1:${port}`;
  const client = new AwsClient({ ...S3_KEYS, service: 's3', region: 'us-east-1', retries: 0 });
  const at = (key: string) => `${url}/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
  const send = async (method: string, key: string, body?: string): Promise<void> => {
    const { ok, status } = await client.fetch(at(key), { method, ...(body === undefined ? {} : { body }) });
    if (!ok) throw new Error(`${method} ${key}: ${status}`);
  };
  return {
    url,
    put: (key: string, text: string) => send('PUT', key, text),
    remove: (key: string) => send('DELETE', key),
    stop: async (): Promise<void> => {
      child.stdin.end();
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}
