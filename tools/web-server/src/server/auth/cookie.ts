import type { Visit } from '../reach/visits.ts';

/** The login cookie of this Callboard, as a visitor gets it. */
export interface SessionCookie {
  name: string;
  options: { readonly httpOnly: true; readonly sameSite: 'strict'; readonly path: '/'; readonly secure: boolean };
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Returns the cookie of a visit. Its name includes the port: browsers share cookies between ports, and two Callboards may
 * run on one host. Under HTTPS it is a `__Host-` cookie, which no plain HTTP and no neighbouring domain can set or read, and no
 * other cookie is a login there.
 */
export function sessionCookie({ origin, isSecure }: Pick<Visit, 'origin' | 'isSecure'>): SessionCookie {
  const { protocol, port } = new URL(origin);
  const name = `callboard_session_${port || DEFAULT_PORTS[protocol]}`;
  return {
    name: isSecure ? `__Host-${name}` : name,
    options: { httpOnly: true, sameSite: 'strict', path: '/', secure: isSecure },
  };
}
