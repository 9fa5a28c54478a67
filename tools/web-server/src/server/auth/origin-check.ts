import type { IncomingMessage } from 'node:http';
import { Rejection } from '../errors.ts';
import type { Visits } from '../reach/visits.ts';

/** Throws `wrong_origin` for a request that comes neither from a page of Callboard nor from a program. */
export type OriginCheck = (request: {
  raw: IncomingMessage;
  /** Of the matched route, however the request wrote its path. */
  routeOptions: { url?: string | undefined };
}) => void;

const FOREIGN_SITES = new Set(['cross-site', 'same-site']);

/**
 * Refuses requests with a foreign host name (DNS rebinding) and requests from foreign pages. A page on another port of this
 * machine is foreign too, although browsers call it "same-site" and send it our cookie.
 */
export function createOriginCheck(visits: Visits): OriginCheck {
  return ({ raw, routeOptions: { url = '' } }) => {
    const visit = visits.of(raw);
    const { origin, 'sec-fetch-site': site } = raw.headers;
    if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).origin === visit.origin)) {
      throw new Rejection('wrong_origin', `A page from ${origin} may not use this Callboard.`);
    }
    // Another site may link to a page, or show a login link.
    if (url.startsWith('/api/') && typeof site === 'string' && FOREIGN_SITES.has(site)) {
      throw new Rejection('wrong_origin', 'A page from another site may not use this Callboard.');
    }
  };
}
