import type { CertificatePair } from '@callboard/runtime/certificate';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import type { Exposure } from '@callboard/runtime/supervision';
import fastifyCookie from '@fastify/cookie';
import swagger from '@fastify/swagger';
import Fastify, { errorCodes, type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { createAuthenticator } from './auth/authenticator.ts';
import { sessionCookie } from './auth/cookie.ts';
import { loginRoutes } from './auth/login-routes.ts';
import { createOriginCheck } from './auth/origin-check.ts';
import { createPageTokens } from './auth/page-tokens.ts';
import { createGuessLimit, createRequestLimit } from './auth/rate-limits.ts';
import { sendKillSwitch } from './auth/worker-kill-switch.ts';
import type { EventHub } from './events/event-hub.ts';
import { limitHalfOpen } from './half-open.ts';
import { answerUnreadable, sendProblem } from './http-error.ts';
import { openApi } from './openapi/document.ts';
import type { OrchestratorClient } from './orchestrator/client.ts';
import { type HttpsLimits, type HttpsServers, httpsServers } from './reach/https-server.ts';
import { createVisits } from './reach/visits.ts';
import { apiRoutes } from './routes/api.ts';
import { healthRoutes } from './routes/health.ts';
import { metricsRoute } from './routes/metrics.ts';
import { maySayHttpsOnly, securityHeaders } from './security-headers.ts';
import { serveClient } from './static.ts';

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
  const app = createServer(log, limits, https);
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
  const cookieName = () => sessionCookie({ origin: ownOrigin(), isSecure: ownOrigin().startsWith('https:') }).name;
  await app.register(swagger, openApi({ version, cookieName }));

  const attempts = createRequestLimit(requestsPerSecond, now);
  await app.register(loginRoutes, { client, visits, tokens, attempts });
  const delays = watchLoopDelay();
  app.addHook('onClose', async () => delays.stop());
  await app.register(healthRoutes, { client, authenticator, version, loopDelay: delays.read });
  await app.register(metricsRoute, { client, hub, guesses, visits, loopDelay: delays.read });
  const limit = createRequestLimit(requestsPerSecond, now);
  await app.register(apiRoutes, { client, hub, authenticator, visits, limit, streamsPerLogin });
  await serveClient(app, settings.clientDir);
  return { app, setCertificate: (pair) => https?.setCertificate(pair) };
}

function createServer(log: FastifyBaseLogger, limits: HttpsLimits, https: HttpsServers | null): FastifyInstance {
  const { headersTimeout, connectionsCheckingInterval, requestTimeout } = limits;
  const app = Fastify({
    loggerInstance: log,
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
export function listeningPort(app: FastifyInstance): number | null {
  const address = app.server.address();
  return address !== null && typeof address === 'object' ? address.port : null;
}
