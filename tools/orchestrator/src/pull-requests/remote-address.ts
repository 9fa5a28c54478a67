import type { CodeHostKind } from '@callboard/contract';

/** A repository on a code host, as a remote's address names it. */
export interface RemoteAddress {
  /** "github.com", without the port of ssh. */
  host: string;
  /** "acme/shop"; on GitLab also "group/subgroup/shop". */
  path: string;
  isSsh: boolean;
}

const URL_FORM = /^(https?|ssh|git\+ssh|git):\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)(:\d+)?\/(.+)$/i;
const SCP_FORM = /^(?:[^@/:]+@)?([^/:@]+):(?!\/\/)(.+)$/;

/** Parses the address of a remote; null for a folder, or one without a repository's path. */
export function parseRemote(address: string): RemoteAddress | null {
  const url = URL_FORM.exec(address);
  if (url !== null) {
    const [, scheme = '', name = '', port = '', path = ''] = url;
    const isSsh = !/^https?$/i.test(scheme);
    return made(isSsh ? name : `${name}${port}`, path, isSsh);
  }
  const scp = SCP_FORM.exec(address);
  return scp === null ? null : made(scp[1] ?? '', scp[2] ?? '', true);
}

function made(host: string, path: string, isSsh: boolean): RemoteAddress | null {
  const plain = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  // A name without a folder is no repository on a code host; "c:" is a drive.
  if (!plain.includes('/') || host.length < 2 || !/^[\w.:[\]-]+$/.test(host) || host.startsWith('-')) return null;
  return { host: host.toLowerCase(), path: plain, isSsh };
}

/** Which code host an address names by itself; null if only the programs can tell. */
export function kindOf(host: string): CodeHostKind | null {
  if (host === 'github.com' || /(^|\.)github\./.test(host)) return 'github';
  return /(^|\.)gitlab\./.test(host) ? 'gitlab' : null;
}

const encoded = (branch: string): string => branch.split('/').map(encodeURIComponent).join('/');

/** The page on which a person opens a pull request by hand. */
export function compareUrl(
  kind: CodeHostKind,
  { host, path }: RemoteAddress,
  { base, branch }: { base: string; branch: string },
): string {
  if (kind === 'github') return `https://${host}/${path}/compare/${encoded(base)}...${encoded(branch)}?expand=1`;
  const query = new URLSearchParams({
    'merge_request[source_branch]': branch,
    'merge_request[target_branch]': base,
  });
  return `https://${host}/${path}/-/merge_requests/new?${query}`;
}
