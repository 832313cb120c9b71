/** How a file is read. */
export interface Format {
  readonly kind: 'markdown' | 'text' | 'code' | 'html' | 'pdf' | 'docx' | 'pptx' | 'xlsx';
  readonly contentType: string;
  /** For code: its grammar. */
  readonly grammar: string | null;
}

const OFFICE = 'application/vnd.openxmlformats-officedocument';

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ...formats('markdown', 'text/markdown', ['md', 'markdown', 'mdx', 'mkd']),
  ...formats('html', 'text/html', ['html', 'htm', 'xhtml']),
  ...formats('pdf', 'application/pdf', ['pdf']),
  ...formats('docx', `${OFFICE}.wordprocessingml.document`, ['docx']),
  ...formats('pptx', `${OFFICE}.presentationml.presentation`, ['pptx']),
  ...formats('xlsx', `${OFFICE}.spreadsheetml.sheet`, ['xlsx']),
  ...code('bash', 'text/x-shellscript', ['sh', 'bash', 'zsh']),
  ...code('c-sharp', 'text/x-csharp', ['cs']),
  ...code('cpp', 'text/x-c++', ['c', 'h', 'cc', 'cpp', 'cxx', 'hpp', 'hh']),
  ...code('css', 'text/css', ['css']),
  ...code('go', 'text/x-go', ['go']),
  ...code('java', 'text/x-java', ['java']),
  ...code('javascript', 'text/javascript', ['js', 'mjs', 'cjs', 'jsx']),
  ...code('php', 'text/x-php', ['php']),
  ...code('powershell', 'text/x-powershell', ['ps1']),
  ...code('python', 'text/x-python', ['py', 'pyi']),
  ...code('ruby', 'text/x-ruby', ['rb']),
  ...code('rust', 'text/x-rust', ['rs']),
  ...code('typescript', 'text/x-typescript', ['ts', 'mts', 'cts']),
  ...code('tsx', 'text/x-typescript', ['tsx']),
]);

const TEXT: Format = { kind: 'text', contentType: 'text/plain', grammar: null };

/** Extensions of files without text, which need not be opened. */
const NO_TEXT = new Set(
  (
    'png jpg jpeg gif webp avif bmp ico icns tif tiff psd heic mp3 m4a wav ogg flac mp4 m4v mov avi mkv webm ' +
    'zip gz tgz bz2 xz zst 7z rar tar jar war class o a so dylib dll exe bin wasm pyc node woff woff2 ttf otf eot ' +
    'sqlite db db-wal db-shm iso dmg deb rpm onnx pt parquet'
  ).split(' '),
);

/** How a file with this name is read; null if it is not. Unknown extensions are text, unless the bytes look binary. */
export function formatOf(path: string): Format | null {
  const dot = path.lastIndexOf('.');
  // `.profile` and `dir.d/file` have no extension.
  if (dot <= path.lastIndexOf('/') + 1) return TEXT;
  const extension = path.slice(dot + 1).toLowerCase();
  return NO_TEXT.has(extension) ? null : (FORMATS.get(extension) ?? TEXT);
}

/** How a text of this content type is read, whatever its name. */
export function formatOfType(type: string): Format | null {
  const [bare = ''] = type.toLowerCase().split(';', 1);
  const wanted = bare.trim();
  return [...FORMATS.values(), TEXT].find(({ contentType }) => contentType === wanted) ?? null;
}

function formats(
  kind: Format['kind'],
  contentType: string,
  extensions: readonly string[],
  grammar: string | null = null,
) {
  return extensions.map((extension): [string, Format] => [extension, { kind, contentType, grammar }]);
}

function code(grammar: string, contentType: string, extensions: readonly string[]) {
  return formats('code', contentType, extensions, grammar);
}
