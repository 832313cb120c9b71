import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Context } from 'hono';
import type { Env } from './access.ts';
import type { Router } from './router.ts';

const DIST = fileURLToPath(new URL('../../web/dist', import.meta.url));

/** Scripts only from our own files; nothing inline, nothing remote; HTML only through the two named policies. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types substrat-md dompurify',
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

interface PageFile {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly type: string;
  /** Its name contains the hash of its content. */
  readonly hashed: boolean;
}

/** The built page in `web/dist`: read at the first request, then served from memory. */
export class PageFiles {
  #names: ReadonlySet<string> | null = null;
  readonly #files = new Map<string, PageFile>();

  has(path: string): boolean {
    this.#names ??= new Set(['/', ...listFiles()]);
    return this.#names.has(path);
  }

  serve(app: Router): void {
    app.get('*', async (c: Context<Env, string>, next) => {
      if (!this.has(c.req.path)) return next();
      const file = this.#read(c.req.path === '/' ? '/index.html' : c.req.path);
      const gzip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
      return c.body(new Uint8Array(gzip ? file.gzipped : file.bytes), 200, {
        ...HEADERS,
        'content-type': file.type,
        'cache-control': file.hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        vary: 'accept-encoding',
        ...(gzip && { 'content-encoding': 'gzip' }),
      });
    });
  }

  #read(path: string): PageFile {
    const known = this.#files.get(path);
    if (known) return known;
    const bytes = readFileSync(DIST + path);
    const file = {
      bytes,
      gzipped: gzipSync(bytes, { level: 9 }),
      type: TYPES[extname(path)] ?? 'application/octet-stream',
      hashed: path.startsWith('/assets/'),
    };
    this.#files.set(path, file);
    return file;
  }
}

function listFiles(): string[] {
  try {
    const entries = readdirSync(DIST, { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath.slice(DIST.length)}/${name}`);
  } catch {
    return [];
  }
}
