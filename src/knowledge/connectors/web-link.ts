/** The file's web page, if it can be derived from the repository's URL; without credentials. */
export function webLink(url: string, ref: string, path: string): string | null {
  const scp = /^(?:[^@/]+@)?([\w.-]+\.[\w-]+):(?!\/\/)(.+)$/.exec(url);
  const full = scp ? `https://${scp[1]}/${scp[2]}` : url;
  if (!/^(https?|ssh|git):\/\//.test(full) || !URL.canParse(full)) return null;
  const { protocol, hostname, port, pathname } = new URL(full);
  const isWeb = protocol.startsWith('http');
  const host = `${isWeb ? protocol : 'https:'}//${hostname}${isWeb && port ? `:${port}` : ''}`;
  const repository = pathname.replace(/\/+$/, '').replace(/\.git$/, '');
  const place = [ref, ...path.split('/')]
    .map(encodeURIComponent)
    .join('/')
    .replace(/^[^/]*/, (first) => first.replaceAll('%2F', '/'));
  return `${host}${repository}/${viewer(hostname)}/${place}`;
}

function viewer(host: string): string {
  if (host.includes('gitlab')) return '-/blob';
  return host.includes('bitbucket') ? 'src' : 'blob';
}
