import type { FastifyHelmetOptions } from '@fastify/helmet';

/**
 * Everything comes from this server and no page may frame ours. Mantine sets style attributes and a style tag, hence
 * the inline styles. Nothing here asks for TLS: Callboard is spoken to in plain HTTP over the loopback interface.
 */
export const securityHeaders: FastifyHelmetOptions = {
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
  strictTransportSecurity: false,
  xFrameOptions: { action: 'deny' },
  // Under "no-referrer" browsers hide the origin of our own forms as well.
  referrerPolicy: { policy: 'same-origin' },
};
