import type { RequestListener, Server } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { CertificatePair } from '@callboard/runtime/certificate';

/** The limits that the framework sets on plain servers only. */
export interface HttpsLimits {
  headersTimeout: number;
  requestTimeout: number;
  connectionsCheckingInterval: number;
}

/** Servers that speak HTTPS with one certificate. */
export interface HttpsServers {
  create(listener: RequestListener): Server;
  /** New connections get this certificate; open ones go on with theirs. */
  setCertificate(pair: CertificatePair): void;
}

/** As the framework's default for plain servers. */
const KEEP_ALIVE_MS = 72_000;

export function httpsServers(first: CertificatePair, limits: HttpsLimits): HttpsServers {
  const servers = new Set<HttpsServer>();
  let { cert, key } = first;
  return {
    create(listener) {
      const handshakeTimeout = limits.headersTimeout;
      const options = { ...limits, handshakeTimeout, cert, key, keepAliveTimeout: KEEP_ALIVE_MS };
      const server = createServer(options, listener);
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return server;
    },
    setCertificate(pair) {
      ({ cert, key } = pair);
      for (const server of servers) server.setSecureContext({ cert, key });
    },
  };
}
