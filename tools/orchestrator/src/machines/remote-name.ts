/**
 * Returns one name for all addresses of a remote repository: without protocol, user, port and `.git`. Null for an address that
 * means a folder of one machine.
 */
export function remoteName(address: string): string | null {
  const trimmed = address.trim();
  const url = /^[a-z][a-z+.-]*:\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/i.exec(trimmed);
  const isFile = /^file:/i.test(trimmed);
  const scp = /^(?:[^@/:]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(trimmed);
  const [, host, path] = (isFile ? null : (url ?? scp)) ?? [];
  if (host === undefined || path === undefined) return null;
  const name = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');
  return name === '' ? null : `${host.toLowerCase()}/${name}`;
}
