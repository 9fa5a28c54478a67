import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { type CertificateFiles, type CertificatePair, readCertificate } from '@callboard/runtime/certificate';
import { messageOf } from '@callboard/runtime/errors';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import { createReconciler } from '@callboard/runtime/reconciler';
import { basePathOf, type Exposure } from '@callboard/runtime/supervision';
import fastifyCookie from '@fastify/cookie';
import swagger from '@fastify/swagger';
import Fastify, { errorCodes, type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { type DestinationStream, type Logger, pino } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { createAuthenticator, createPageTokens, sessionCookie } from './auth/authenticator.ts';
import { loginRoutes } from './auth/login-routes.ts';
import { createGuessLimit, createRequestLimit } from './auth/rate-limits.ts';
import { createVisits, type Visits, withOwnWarning } from './auth/visits.ts';
import { answerUnreadable, Rejection, sendProblem } from './errors.ts';
import { createEventHub, type EventHub } from './events/event-hub.ts';
import { openApi } from './openapi/document.ts';
import { createOrchestratorClient, type OrchestratorClient } from './orchestrator/client.ts';
import { apiRoutes } from './routes/api.ts';
import { healthRoutes, metricsRoute } from './routes/health.ts';
import { maySayHttpsOnly, securityHeaders, sendKillSwitch, serveClient } from './static.ts';

export interface AppSettings {
  /** The address to bind to, and the port; another port may be taken instead. */
  host: string;
  port: number;
  exposure: Exposure;
  version: string;
  /** The folder of the built client. */
  clientDir: string;
  requestsPerSecond: number;
  /** The limit of open event streams for one login or API token. */
  streamsPerLogin: number;
  /** The limit of connections without a complete request. */
  maxHalfOpen: number;
  /** The time limit for the headers of a request. */
  headersTimeoutMs: number;
}

export interface AppDeps {
  client: OrchestratorClient;
  hub: EventHub;
  log: FastifyBaseLogger;
  settings: AppSettings;
  /** Speaks HTTPS with it; null for plain HTTP. */
  certificate: CertificatePair | null;
  now?: () => number;
}

export interface App {
  app: FastifyInstance;
  /** New connections get this certificate. */
  setCertificate: HttpsServers['setCertificate'];
}

const BODY_LIMIT = 1024 * 1024;
/** For a request to arrive completely; it does not end a stream. */
const REQUEST_TIMEOUT_MS = 120_000;
const MAX_PARAM_LENGTH = 300;

/** Builds the HTTP server; it does not listen yet. Closing it ends the event streams first. */
export async function buildApp(deps: AppDeps): Promise<App> {
  const { client, hub, log, settings, certificate, now = () => performance.now() } = deps;
  const limits: HttpsLimits = {
    headersTimeout: settings.headersTimeoutMs,
    connectionsCheckingInterval: settings.headersTimeoutMs / 2,
    requestTimeout: REQUEST_TIMEOUT_MS,
  };
  const https = certificate === null ? null : httpsServers(certificate, limits);
  const basePath = basePathOf(settings.exposure);
  const app = createServer({ log, limits, https, basePath });
  limitHalfOpen(app.server, settings.maxHalfOpen);

  const { host, version, requestsPerSecond, streamsPerLogin, exposure } = settings;
  let listening: number | null = null;
  const port = () => {
    listening ??= listeningPort(app);
    return listening ?? settings.port;
  };
  const visits = createVisits({ host, port, exposure });
  const tokens = createPageTokens(now);
  const guesses = createGuessLimit(requestsPerSecond, now);
  const authenticator = createAuthenticator({ client, visits, tokens, guesses });
  const checkOrigin = createOriginCheck(visits);

  const headers = securityHeaders(maySayHttpsOnly(exposure));
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers);
    checkOrigin(request);
    if (!sendKillSwitch(request, reply)) done();
  });
  await app.register(fastifyCookie);
  const ownOrigin = () => exposure.publicUrl ?? `${https === null ? 'http' : 'https'}://localhost:${port()}`;
  const cookieName = () =>
    sessionCookie({ origin: ownOrigin(), isSecure: ownOrigin().startsWith('https:'), basePath }).name;
  await app.register(swagger, openApi({ version, cookieName }));

  const attempts = createRequestLimit(requestsPerSecond, now);
  await app.register(loginRoutes, { client, visits, tokens, attempts });
  const delays = watchLoopDelay();
  app.addHook('onClose', async () => delays.stop());
  await app.register(healthRoutes, { client, authenticator, version, loopDelay: delays.read });
  await app.register(metricsRoute, { client, hub, guesses, visits, loopDelay: delays.read });
  const limit = createRequestLimit(requestsPerSecond, now);
  await app.register(apiRoutes, { client, hub, authenticator, visits, limit, streamsPerLogin });
  await serveClient(app, settings.clientDir, basePath);
  return { app, setCertificate: (pair) => https?.setCertificate(pair) };
}

interface ServerDeps {
  log: FastifyBaseLogger;
  limits: HttpsLimits;
  https: HttpsServers | null;
  basePath: string;
}

/** Requests may be for paths below the base path, as people see them, or without it, as some proxies and this machine's programs send them. */
function createServer({ log, limits, https, basePath }: ServerDeps): FastifyInstance {
  const below = (url: string) =>
    basePath !== '' && `${url}/`.startsWith(`${basePath}/`) ? url.slice(basePath.length) : url;
  const { headersTimeout, connectionsCheckingInterval, requestTimeout } = limits;
  const app = Fastify({
    loggerInstance: log,
    rewriteUrl: ({ url = '/' }) => (below(url).startsWith('/') ? below(url) : `/${below(url)}`),
    logController: new LogController({ disableRequestLogging: true }), // URLs contain login codes
    childLoggerFactory: (logger) => logger, // requests are not logged, so none needs a child logger
    bodyLimit: BODY_LIMIT,
    requestTimeout,
    http: { headersTimeout, connectionsCheckingInterval },
    ...(https && { serverFactory: https.create }),
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => sendProblem(error, request.log, reply),
  });
  app.setValidatorCompiler(validatorCompiler);
  // The orchestrator's replies were checked with their schemas on arrival; the compiler checks the rest.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => sendProblem(error, request.log, reply));
  acceptJsonAlone(app);
  return app;
}

/** Accepts JSON only. Commands without fields often come with the JSON type and no body, or as empty text from a browser's `fetch`. */
function acceptJsonAlone(app: FastifyInstance): void {
  // Questions may have any text, even `__proto__`, and are keys in answers. Every body is read with a schema that copies no such key.
  const parseJson = app.getDefaultJsonParser('ignore', 'ignore');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parseJson(request, body.toString(), done);
  });
  app.removeContentTypeParser('text/plain'); // the framework would parse it
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) => {
    done(body === '' ? null : new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE('text/plain'), undefined);
  });
}

/** Returns the port that the server listens on; null before that. */
function listeningPort(app: FastifyInstance): number | null {
  const address = app.server.address();
  return address !== null && typeof address === 'object' ? address.port : null;
}

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
function createOriginCheck(visits: Visits): OriginCheck {
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

/** Whether a request has a body. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * Keeps at most `max` connections without a complete request: nothing sent yet, half a head, half a body, or idle after a
 * response. Beyond that it closes the one that has waited longest. So nobody can use up all file descriptors by opening
 * connections, or keep others out.
 */
function limitHalfOpen(server: Server, max: number): void {
  /** In the order in which they began to wait. By remote end, since HTTPS has two sockets for a connection. */
  const waiting = new Map<string, Socket>();
  const ends = new WeakMap<Socket, string>();
  const endOf = (socket: Socket): string => ends.get(socket) ?? '';

  function wait(socket: Socket): void {
    if (socket.destroyed) return;
    waiting.delete(endOf(socket));
    waiting.set(endOf(socket), socket);
    const [oldest] = waiting;
    if (waiting.size <= max || oldest === undefined) return;
    waiting.delete(oldest[0]);
    oldest[1].destroy();
  }

  function begin(socket: Socket): void {
    const end = `${socket.remoteAddress} ${socket.remotePort}`;
    ends.set(socket, end);
    socket.once('close', () => waiting.get(end) === socket && waiting.delete(end));
    wait(socket);
  }

  server.on('connection', begin);
  server.on('secureConnection', begin); // after the handshake
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (hasBody(request)) request.once('end', () => response.writableFinished || waiting.delete(endOf(socket)));
    else waiting.delete(endOf(socket));
    response.once('close', () => wait(socket));
  });
}

/** Where the web server listens, and its orchestrator, which may still be starting. */
export interface WebServerLocation {
  host: string;
  port: number;
  exposure: Exposure;
  orchestrator: { url: string | Promise<string>; secret: string };
}

export interface WebServer {
  /** The actual port. */
  port: number;
  /** Resolves when commands can be sent to the orchestrator. Rejects when the signal aborts. */
  whenReached: (signal: AbortSignal) => Promise<void>;
  /** Closes the event streams, then the requests, then the connection to the orchestrator. Never rejects. */
  stop: () => Promise<void>;
}

/** Settings that tests change. */
export interface WebServerSettings extends Omit<AppSettings, 'host' | 'port' | 'exposure'> {
  /** Of the event streams. */
  heartbeatMs: number;
  loginCheckMs: number;
  maxUnreadBytes: number;
  /** Of the connection to the orchestrator. */
  pingMs: number;
  maxBackoffMs: number;
  /** How often the files of the certificate are read. */
  certificateMs: number;
  /** Called with what a person in front of the terminal should know. */
  onNotice: (text: string) => void;
}

const defaults: WebServerSettings = {
  version: packageJson.version,
  clientDir: join(import.meta.dirname, '../../dist/client'),
  requestsPerSecond: 100,
  streamsPerLogin: 50,
  maxHalfOpen: 500,
  headersTimeoutMs: 20_000,
  heartbeatMs: 2_000, // a client notices within two of them that its connection is dead
  loginCheckMs: 15_000,
  maxUnreadBytes: 4 * 1024 * 1024,
  pingMs: 15_000, // finds a process that hangs, not one that is slow; the end of a process is noticed at once
  maxBackoffMs: 1_000,
  certificateMs: 10_000,
  onNotice: () => undefined,
};

/**
 * Starts the web server. Resolves once it listens, whether or not the orchestrator can be reached yet. On failure it stops
 * everything already started and rejects with the system's error (`EADDRINUSE`, for example), or with CertificateError.
 */
export async function startWebServer(
  config: WebServerLocation,
  log: FastifyBaseLogger,
  overrides: Partial<WebServerSettings> = {},
): Promise<WebServer> {
  const { heartbeatMs, loginCheckMs, maxUnreadBytes, pingMs, maxBackoffMs, certificateMs, onNotice, ...settings } = {
    ...defaults,
    ...overrides,
  };
  const { host, port, orchestrator, exposure } = config;
  const life = createLifecycle(log);
  try {
    const certificate = exposure.tls && (await readCertificate(exposure.tls));
    const inner = createOrchestratorClient({ ...orchestrator, log, heartbeatMs: pingMs, maxBackoffMs });
    life.onStop('orchestrator client', () => inner.close());
    const { client, warn } = withOwnWarning(inner);
    const hub = createEventHub({ client, log, heartbeatMs, loginCheckMs, maxUnreadBytes });
    life.onStop('event hub', () => hub.close());
    const { app, setCertificate } = await buildApp({
      client,
      hub,
      log,
      certificate,
      settings: { ...settings, host, port, exposure },
    });
    life.onStop('http', () => app.close());
    await app.listen({ host, port });
    if (exposure.tls !== null && certificate !== null) {
      const onError = (text: string | null) => {
        warn(text);
        onNotice(text ?? 'The certificate can be used again.');
      };
      const parts = { files: exposure.tls, loaded: certificate, checkMs: certificateMs, onError };
      life.onStop('certificate', watchCertificate({ ...parts, onChange: setCertificate }));
    }
    return { port: listeningPort(app) ?? port, whenReached: client.whenReady, stop: life.stop };
  } catch (error) {
    await life.stop();
    throw error;
  }
}

/** The loggable parts of a request. The path comes without its query, which may hold a login code. */
const request = ({ method, url }: { method?: string; url?: string }) => ({ method, path: url?.split('?', 1)[0] });

/** Creates the web server's log. It names requests but never shows headers, queries or bodies: they hold secrets. */
export const createLog = ({ level }: { level: string }, destination: DestinationStream): Logger =>
  pino({ name: 'web-server', level, serializers: { req: request } }, destination);

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

function httpsServers(first: CertificatePair, limits: HttpsLimits): HttpsServers {
  const servers = new Set<HttpsServer>();
  let { cert, key } = first;
  return {
    create(listener) {
      const handshakeTimeout = limits.headersTimeout;
      const options = { ...limits, handshakeTimeout, cert, key, keepAliveTimeout: KEEP_ALIVE_MS };
      const server = createHttpsServer(options, listener);
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
function watchCertificate({ files, loaded, checkMs, onChange, onError }: CertificateWatchDeps): () => void {
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
