import { AwsClient } from 'aws4fetch';
import { SubstratError } from '../../core/errors.ts';
import { readBytes } from '../../core/response.ts';
import { type Connector, type Item, MAX_SOURCE_ID, type RawDocument } from '../connector.ts';
import { type BucketPage, bareTag, readBucketPage } from './s3-page.ts';
import { createSelect, type Selection } from './select.ts';

export interface S3Options extends Selection {
  readonly source: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly region: string;
  readonly endpointUrl: string | null;
  /** Null: requests are unsigned, as for a public bucket. */
  readonly credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | null;
  readonly tags: readonly string[];
  readonly maxBytes: number;
}

const TIMEOUT_MS = 60_000;
const RETRIES = 4;
/** A page lists a thousand objects with keys of at most 1,024 bytes. */
const MAX_ANSWER = 8 * 1024 * 1024;

export function s3Connector(options: S3Options): Connector {
  const { source, bucket, prefix, region, credentials, tags, maxBytes } = options;
  const select = createSelect(options);
  const base = bucketUrl(options);
  const client = credentials && new AwsClient({ ...credentials, region, service: 's3', retries: RETRIES });

  const get = async (url: URL): Promise<Response | null> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // Following a redirect would send credentials to any host the server names.
    const options = { signal, redirect: 'manual' as const };
    const answer = await (client ? client.fetch(url.href, options) : fetch(url, { signal })).catch((error: Error) => {
      const cause = error.cause as NodeJS.ErrnoException | undefined;
      const reason = cause?.code ?? cause?.message ?? error.name;
      throw new SubstratError('unsupported', `${base.origin} cannot be reached (${reason})`);
    });
    if (answer.ok) return answer;
    const said = await readBytes(answer, MAX_ANSWER).catch(() => '');
    const code = /<Code>(\w+)<\/Code>/.exec(said.toString().slice(0, 10_000))?.[1] ?? '';
    if (code === 'NoSuchKey') return null;
    throw new SubstratError(
      'unsupported',
      `${base.origin} returned ${answer.status} ${code} for the bucket ${bucket}`.trim(),
    );
  };

  return {
    source,
    tags,
    maxBytes,
    checkpoint: () => null,
    close: async () => {},

    async *list({ signal, onUnlisted }) {
      for (let page: BucketPage = { objects: [], next: '' }; page.next !== null; ) {
        signal.throwIfAborted();
        const url = new URL(base);
        url.searchParams.set('list-type', '2');
        url.searchParams.set('encoding-type', 'url');
        if (prefix !== '') url.searchParams.set('prefix', prefix);
        if (page.next !== '') url.searchParams.set('continuation-token', page.next);
        const answer = await get(url);
        if (!answer) throw new SubstratError('not_found', `There is no bucket ${bucket} at ${base.origin}.`);
        page = readBucketPage((await readBytes(answer, MAX_ANSWER)).toString());
        const items: Item[] = [];
        for (const { key, etag, size, updatedAt } of page.objects) {
          // A key that ends with a slash stands for a directory.
          if (key.endsWith('/') || !select.file(key.slice(prefix.length).replace(/^\/+/, ''))) continue;
          if (Buffer.byteLength(key) > MAX_SOURCE_ID) onUnlisted(key, 'its key is too long');
          else items.push({ sourceId: key, version: etag, size, updatedAt });
        }
        yield items;
      }
    },

    async read({ sourceId }): Promise<RawDocument | null> {
      const answer = await get(new URL(`${base.href.replace(/\/$/, '')}/${encodeKey(sourceId)}`));
      if (!answer) return null;
      const bytes = await readBytes(answer, maxBytes);
      const etag = answer.headers.get('etag');
      const changed = Date.parse(answer.headers.get('last-modified') ?? '');
      const contentType = answer.headers.get('content-type');
      return {
        bytes,
        ...(etag === null ? {} : { version: bareTag(etag) }),
        author: null,
        url: `s3://${bucket}/${encodeKey(sourceId)}`,
        createdAt: null,
        updatedAt: Number.isNaN(changed) ? null : changed,
        metadata: { bucket, ...(contentType === null ? {} : { content_type: contentType }) },
      };
    },
  };
}

/**
 * Other servers use path-style buckets, and so does Amazon for names with a dot, which would not match the
 * certificate.
 */
function bucketUrl({ endpointUrl, bucket, region }: S3Options): URL {
  if (endpointUrl !== null) return new URL(`${endpointUrl.replace(/\/+$/, '')}/${bucket}`);
  const host = `s3.${region}.amazonaws.com`;
  return new URL(bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}/`);
}

function encodeKey(key: string): string {
  return key
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/');
}
