/** Where a PostgreSQL database is. */
export interface DatabaseAddress {
  /** In the order in which they are tried. A host that begins with `/` is the folder of a Unix socket. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** Null for the name of this account. */
  readonly user: string | null;
  readonly password: string | null;
  readonly database: string;
  /** What follows `?`, for example `sslmode`. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** A URL that cannot be used. The message never holds any part of it, since that may be the password. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

const SCHEME = /^postgres(?:ql)?:\/\//i;
const PARTS = /^(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::(\d{1,5}))?$/;
const DEFAULT_PORT = 5432;

/** Whether a text looks like the URL of a database, so that it must not be repeated. */
export const isDatabaseUrl = (text: string): boolean => SCHEME.test(text);

/**
 * Parses `postgres://user:password@host:port,host:port/database?parameter=value`, as PostgreSQL's own programs do. `URL` cannot:
 * it knows one host only.
 * @throws DatabaseUrlError what is wrong, as the end of a sentence
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const scheme = SCHEME.exec(text);
  if (scheme === null) throw new DatabaseUrlError('does not begin with postgres:// or postgresql://');
  const parts = PARTS.exec(text.slice(scheme[0].length));
  if (parts === null || /[\s\p{Cc}]/u.test(text))
    throw new DatabaseUrlError(
      'has a character that must be percent-encoded (in a password: @ is %40, / is %2F, # is %23)',
    );
  const [, login = '', hosts = '', database = '', query = ''] = parts;
  const colon = login.indexOf(':');
  const parameters = parametersOf(query);
  if (database === '')
    throw new DatabaseUrlError('names no database: write it after the host, as in postgres://host/callboard');
  return {
    hosts: (hosts === '' ? (parameters.get('host') ?? '') : hosts).split(',').map(hostOf),
    user: login === '' ? null : decoded(colon < 0 ? login : login.slice(0, colon)),
    password: colon < 0 ? null : decoded(login.slice(colon + 1)),
    database: decoded(database),
    parameters,
  };
}

/** Names a server: `db1.example:5432`. */
export const nameOfServer = ({ host, port }: DatabaseAddress['hosts'][number]): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Names a database without any secret: `db1.example:5432,db2.example:5432/callboard`. */
export const nameOfDatabase = ({ hosts, database }: DatabaseAddress): string =>
  `${hosts.map(nameOfServer).join(',')}/${database}`;

function hostOf(text: string): DatabaseAddress['hosts'][number] {
  const [, host, port = `${DEFAULT_PORT}`] = HOST.exec(text.startsWith('/') ? encodeURIComponent(text) : text) ?? [];
  if (host === undefined || Number(port) === 0 || Number(port) > 65_535)
    throw new DatabaseUrlError('has a host or port that cannot be read: write host:port, several separated by commas');
  return { host: host === '' ? 'localhost' : decoded(host.replace(/^\[(.*)\]$/, '$1')), port: Number(port) };
}

function parametersOf(query: string): Map<string, string> {
  const pairs = query === '' ? [] : query.split('&');
  return new Map(
    pairs.map((pair) => {
      const [name = '', ...rest] = pair.split('=');
      if (name === '' || rest.length !== 1)
        throw new DatabaseUrlError('has something after the question mark that is not name=value');
      return [decoded(name), decoded(rest.join(''))];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DatabaseUrlError('has a percent sign that encodes nothing (a percent sign itself is %25)');
  }
}
