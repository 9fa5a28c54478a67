import type { IncomingHttpHeaders } from 'node:http';
import { Rejection } from '../errors.ts';

export interface OriginCheckParts {
  /** The address that the server is bound to. */
  host: string;
  /** The port it really listens on. */
  port: () => number;
}

/** Throws `wrong_origin` for a request that comes neither from a page of Callboard nor from a program. */
export type OriginCheck = (request: {
  headers: IncomingHttpHeaders;
  /** Of the matched route, however the request wrote its path. */
  routeOptions: { url?: string | undefined };
}) => void;

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const FOREIGN_SITES = new Set(['cross-site', 'same-site']);

/**
 * Refuses requests with a foreign host name (DNS rebinding) and requests from foreign pages. A page on another port of this
 * machine is foreign too, although browsers call it "same-site" and send it our cookie.
 */
export function createOriginCheck({ host, port }: OriginCheckParts): OriginCheck {
  const names = [...LOOPBACK_NAMES, host.includes(':') && !host.startsWith('[') ? `[${host}]` : host];

  function isOurs(authority: string): boolean {
    const given = authority.toLowerCase();
    const ours = port();
    return names.some((name) => given === `${name}:${ours}` || (ours === 80 && given === name));
  }

  return ({ headers, routeOptions: { url = '' } }) => {
    const { host: authority, origin, 'sec-fetch-site': site } = headers;
    if (authority === undefined || !isOurs(authority)) {
      throw new Rejection(
        'wrong_origin',
        'Callboard does not answer under this host name; use the address it printed.',
      );
    }
    if (origin !== undefined && origin !== `http://${authority}`) {
      throw new Rejection('wrong_origin', `A page from ${origin} may not use this Callboard.`);
    }
    // Another site may link to a page, or show a login link.
    if (url.startsWith('/api/') && typeof site === 'string' && FOREIGN_SITES.has(site)) {
      throw new Rejection('wrong_origin', 'A page from another site may not use this Callboard.');
    }
  };
}
