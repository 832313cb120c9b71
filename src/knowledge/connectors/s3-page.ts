import { SubstratError } from '../../core/errors.ts';
import { readXml } from '../extract/xml.ts';

/** One page of the objects in a bucket. */
export interface BucketPage {
  readonly objects: readonly { key: string; etag: string; size: number; updatedAt: number | null }[];
  readonly next: string | null;
}

export function readBucketPage(xml: string): BucketPage {
  const path: string[] = [];
  const top: Record<string, string> = {};
  const found: Record<string, string>[] = [];
  readXml(xml, {
    open: (name) => {
      path.push(name);
      if (path.length === 2 && name === 'Contents') found.push({});
    },
    text: (text) => {
      const [root, within, name] = path;
      const into = path.length === 3 && within === 'Contents' ? found.at(-1) : path.length === 2 ? top : undefined;
      const key = path.length === 3 ? name : within;
      if (root === 'ListBucketResult' && into && key) into[key] = (into[key] ?? '') + text;
    },
    close: () => void path.pop(),
  });
  if (top.Name === undefined) throw new SubstratError('unsupported', 'The server did not return an S3 response.');
  const objects = found.map(({ Key = '', LastModified = '', ETag = '', Size = '' }) => {
    const changed = Date.parse(LastModified);
    return {
      key: top.EncodingType === 'url' ? decodeURIComponent(Key.replaceAll('+', ' ')) : Key,
      etag: bareTag(ETag),
      size: Number(Size),
      updatedAt: Number.isNaN(changed) ? null : changed,
    };
  });
  return { objects, next: top.IsTruncated === 'true' ? (top.NextContinuationToken ?? null) : null };
}

export function bareTag(etag: string): string {
  return etag.replace(/^W\//, '').replaceAll('"', '');
}
