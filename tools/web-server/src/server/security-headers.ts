import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Exposure } from '@callboard/runtime/supervision';
import helmet, { type HelmetOptions } from 'helmet';

/**
 * Pages load everything from this server, and no page may frame them. Mantine sets style attributes and a style tag, hence
 * the inline styles.
 */
const options = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:', 'blob:'],
      connectSrc: ["'self'"],
      objectSrc: ["'none'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
    },
  },
  xFrameOptions: { action: 'deny' },
  // Under "no-referrer" browsers hide the origin of our own forms as well.
  referrerPolicy: { policy: 'same-origin' },
} satisfies HelmetOptions;

const HALF_A_YEAR = 180 * 24 * 3_600;

/**
 * Whether Callboard may tell browsers that this host speaks HTTPS alone. The header is about all ports of a host, so only
 * where Callboard is that host's web site. A proxy speaks for itself.
 */
export const maySayHttpsOnly = ({ tls, publicUrl }: Exposure): boolean =>
  tls !== null && publicUrl !== null && new URL(publicUrl).port === '';

/**
 * Returns the headers that Helmet sets on every response. They do not depend on the request, so one call is enough.
 * @param httpsOnly whether they tell browsers to come back over HTTPS only
 */
export function securityHeaders(httpsOnly: boolean): OutgoingHttpHeaders {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  helmet({
    ...options,
    strictTransportSecurity: httpsOnly && { maxAge: HALF_A_YEAR, includeSubDomains: false },
  })(request, response, () => undefined);
  return response.getHeaders();
}
