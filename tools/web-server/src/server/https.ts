import type { RequestListener, Server } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import { type CertificateFiles, type CertificatePair, readCertificate } from '@callboard/runtime/certificate';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler } from '@callboard/runtime/reconciler';

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

export interface CertificateWatchDeps {
  files: CertificateFiles;
  /** The pair in use. */
  loaded: CertificatePair;
  /** How often the files are read. They are small, and reading them sees every way of replacing them. */
  checkMs: number;
  onChange: (pair: CertificatePair) => void;
  /** The files cannot be used: in words; null once they can. Called when that changes. */
  onError: (text: string | null) => void;
}

/**
 * Looks for a new certificate. One that cannot be used changes nothing. It is told if it is still so at the next look: who
 * replaces the two files does it one after the other.
 * @returns how to end it
 */
export function watchCertificate({ files, loaded, checkMs, onChange, onError }: CertificateWatchDeps): () => void {
  let current = loaded;
  let failure: string | null = null;
  let reported: string | null = null;

  function notify(text: string | null): void {
    if (text === reported) return;
    reported = text;
    onError(text);
  }

  async function check(): Promise<void> {
    try {
      const pair = await readCertificate(files);
      failure = null;
      notify(null);
      if (pair.cert.equals(current.cert) && pair.key.equals(current.key)) return;
      current = pair;
      onChange(pair);
    } catch (error) {
      const text = messageOf(error);
      if (text === failure) notify(retainsOld(text, current));
      failure = text;
    }
  }

  return createReconciler(check, (error) => onError(messageOf(error)), { everyMs: checkMs }).stop;
}

const retainsOld = (cause: string, { validUntil }: CertificatePair): string =>
  `The new certificate cannot be used. ${cause} Callboard goes on with the one before, valid until ${validUntil.toISOString().slice(0, 10)}, and reads the files again.`;
