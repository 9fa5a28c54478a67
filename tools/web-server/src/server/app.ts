import fastifyCookie from '@fastify/cookie';
import swagger from '@fastify/swagger';
import Fastify, { errorCodes, type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { sessionCookie } from './auth/cookie.ts';
import { evictWorker } from './auth/evict-worker.ts';
import { createGate } from './auth/gate.ts';
import { createGuessLimit } from './auth/guess-limit.ts';
import { loginRoutes } from './auth/login-routes.ts';
import { createOriginGuard } from './auth/origin-guard.ts';
import { createPageTokens } from './auth/page-tokens.ts';
import { createRequestLimit } from './auth/request-limit.ts';
import type { EventHub } from './events/event-hub.ts';
import { limitHalfOpen } from './half-open.ts';
import { sendProblem } from './http-error.ts';
import { openApi } from './openapi/document.ts';
import type { OrchestratorClient } from './orchestrator/client.ts';
import { apiRoutes } from './routes/api.ts';
import { healthRoutes } from './routes/health.ts';
import { securityHeaders } from './security-headers.ts';
import { serveClient } from './static.ts';
import { answerUnreadable } from './unreadable-request.ts';

export interface AppSettings {
  /** The address it will be bound to, and the port unless another is taken. */
  host: string;
  port: number;
  version: string;
  /** Where the built client is. */
  clientDir: string;
  requestsPerSecond: number;
  /** Event streams that one login, or one API token, may have open. */
  streamsPerLogin: number;
  /** Connections that have no whole request under way. */
  maxHalfOpen: number;
  /** How long the head of a request may take. */
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
/** For a request to come in whole; it does not end a stream. */
const REQUEST_TIMEOUT_MS = 120_000;
const MAX_PARAM_LENGTH = 300;

/** The whole HTTP side, not yet listening. Closing it ends the event streams first. */
export async function buildApp({
  client,
  hub,
  log,
  settings,
  now = () => performance.now(),
}: AppParts): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // a login code is part of an address
    childLoggerFactory: (logger) => logger, // no request is logged, so none needs a logger of its own
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
  // Replies were read with their schemas when they came; the rest we make ourselves, by its types.
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
  const gate = createGate({ client, cookie, tokens, guesses: createGuessLimit(requestsPerSecond, now) });
  const checkOrigin = createOriginGuard({ host, port });

  const headers = securityHeaders();
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers);
    checkOrigin(request);
    if (!evictWorker(request, reply)) done();
  });
  await app.register(fastifyCookie);
  await app.register(swagger, openApi({ version, cookieName: cookie.name }));

  await app.register(loginRoutes, { client, cookie, tokens });
  await app.register(healthRoutes, { client, gate, version });
  const limit = createRequestLimit(requestsPerSecond, now);
  await app.register(apiRoutes, { client, hub, gate, cookie, limit, streamsPerLogin });
  await serveClient(app, settings.clientDir);
  return app;
}

/** Commands without fields are often sent with the JSON type and no body; or as text, by a browser's `fetch` with an empty one. */
function acceptJsonAlone(app: FastifyInstance): void {
  // A question can have any text, such as `__proto__`, and answers go by it. Schemas read each body, and copy no such key.
  const parseJson = app.getDefaultJsonParser('ignore', 'ignore');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parseJson(request, body.toString(), done);
  });
  app.removeContentTypeParser('text/plain'); // which the framework would read
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) => {
    done(body === '' ? null : new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE('text/plain'), undefined);
  });
}

/** The port it listens on; null before that. */
export function listeningPort(app: FastifyInstance): number | null {
  const address = app.server.address();
  return address !== null && typeof address === 'object' ? address.port : null;
}
