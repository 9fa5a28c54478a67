import fastifyCookie from '@fastify/cookie';
import helmet from '@fastify/helmet';
import swagger from '@fastify/swagger';
import Fastify, { errorCodes, type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { sessionCookie } from './auth/cookie.ts';
import { createCredentials } from './auth/credentials.ts';
import { createGate } from './auth/gate.ts';
import { loginRoutes } from './auth/login-routes.ts';
import { createOriginGuard } from './auth/origin-guard.ts';
import type { EventHub } from './events/event-hub.ts';
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
  loginsPerMinute: number;
  /** For how long a checked login is taken as good. */
  loginCacheMs: number;
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
    bodyLimit: BODY_LIMIT,
    // A question can have any text, and answers go by it. Bodies are read by schemas, which copy no key but those they name.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false, // a HEAD of a login link must not use it up
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => sendProblem(error, request.log, reply),
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((error, request, reply) => sendProblem(error, request.log, reply));
  acceptJsonAlone(app);

  const { host, version, requestsPerSecond, loginsPerMinute } = settings;
  const port = () => listeningPort(app) ?? settings.port;
  const cookie = sessionCookie(port);
  const credentials = createCredentials({
    client,
    ttlMs: settings.loginCacheMs,
    guessesPerSecond: requestsPerSecond,
    now,
  });
  const gate = createGate({ credentials, cookie });
  const checkOrigin = createOriginGuard({ host, port });

  await app.register(helmet, securityHeaders);
  app.addHook('onRequest', async (request) => checkOrigin(request));
  await app.register(fastifyCookie);
  await app.register(swagger, openApi({ version, cookieName: cookie.name }));

  await app.register(loginRoutes, { client, gate, cookie, loginsPerMinute });
  await app.register(healthRoutes, { client, gate, version });
  await app.register(apiRoutes, { client, hub, gate, cookie, credentials, requestsPerSecond });
  await serveClient(app, settings.clientDir);
  return app;
}

/** Commands without fields are often sent with the JSON type and no body; or as text, by a browser's `fetch` with an empty one. */
function acceptJsonAlone(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
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
