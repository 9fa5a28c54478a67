import { watchLoopDelay } from '@callboard/runtime/loop-delay';
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
import { apiRoutes } from './routes/api.ts';
import { healthRoutes } from './routes/health.ts';
import { metricsRoute } from './routes/metrics.ts';
import { securityHeaders } from './security-headers.ts';
import { serveClient } from './static.ts';

export interface AppSettings {
  /** The address to bind to, and the port; another port may be taken instead. */
  host: string;
  port: number;
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

export interface AppParts {
  client: OrchestratorClient;
  hub: EventHub;
  log: FastifyBaseLogger;
  settings: AppSettings;
  now?: () => number;
}

const BODY_LIMIT = 1024 * 1024;
/** For a request to arrive completely; it does not end a stream. */
const REQUEST_TIMEOUT_MS = 120_000;
const MAX_PARAM_LENGTH = 300;

/** Builds the HTTP server; it does not listen yet. Closing it ends the event streams first. */
export async function buildApp({
  client,
  hub,
  log,
  settings,
  now = () => performance.now(),
}: AppParts): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // URLs contain login codes
    childLoggerFactory: (logger) => logger, // requests are not logged, so none needs a child logger
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: settings.headersTimeoutMs, connectionsCheckingInterval: settings.headersTimeoutMs / 2 },
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => sendProblem(error, request.log, reply),
  });
  limitHalfOpen(app.server, settings.maxHalfOpen);
  app.setValidatorCompiler(validatorCompiler);
  // The orchestrator's replies were checked with their schemas on arrival; the compiler checks the rest.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => sendProblem(error, request.log, reply));
  acceptJsonAlone(app);

  const { host, version, requestsPerSecond, streamsPerLogin } = settings;
  let listening: number | null = null;
  const port = () => {
    listening ??= listeningPort(app);
    return listening ?? settings.port;
  };
  const cookie = sessionCookie(port);
  const tokens = createPageTokens(now);
  const guesses = createGuessLimit(requestsPerSecond, now);
  const authenticator = createAuthenticator({
    client,
    cookie,
    tokens,
    guesses,
  });
  const checkOrigin = createOriginCheck({ host, port });

  const headers = securityHeaders();
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers);
    checkOrigin(request);
    if (!sendKillSwitch(request, reply)) done();
  });
  await app.register(fastifyCookie);
  await app.register(swagger, openApi({ version, cookieName: cookie.name }));

  await app.register(loginRoutes, { client, cookie, tokens });
  const delays = watchLoopDelay();
  app.addHook('onClose', async () => delays.stop());
  await app.register(healthRoutes, { client, authenticator, version, loopDelay: delays.read });
  await app.register(metricsRoute, { client, hub, guesses, loopDelay: delays.read });
  const limit = createRequestLimit(requestsPerSecond, now);
  await app.register(apiRoutes, { client, hub, authenticator, cookie, limit, streamsPerLogin });
  await serveClient(app, settings.clientDir);
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
