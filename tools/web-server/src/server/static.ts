import { existsSync, readFileSync } from 'node:fs';
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { join, sep } from 'node:path';
import { WORKER_PATH } from '@callboard/contract';
import { basePathOf, type Exposure } from '@callboard/runtime/supervision';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HelmetOptions } from 'helmet';
import helmet from 'helmet';
import { z } from 'zod';
import { Rejection, sendProblem } from './errors.ts';
import { problemsAs } from './openapi/responses.ts';

const NOT_BUILT = 'The client is not built; run npm install (or npm run build).\n';
const YEAR = 'public, max-age=31536000, immutable';

/**
 * Serves the built client from `clientDir`. Files under `assets/` have a hash in their names and are cached for ever;
 * browsers revalidate everything else. A file with a compressed copy beside it (`.br`, `.gz`) is sent compressed. Paths of the client's router get `index.html`. The build may appear, or be replaced,
 * while the server runs.
 * @param basePath what the pages put before the paths of their files; they are told in a `meta` tag
 */
export async function serveClient(app: FastifyInstance, clientDir: string, basePath: string): Promise<void> {
  const assets = `${join(clientDir, 'assets')}${sep}`;
  const loginPage = join(clientDir, 'login.html');
  await app.register(fastifyStatic, {
    root: clientDir,
    index: basePath === '' ? 'index.html' : false,
    allowedPath: (path) => basePath === '' || !path.endsWith('.html'),
    suppressWarning: true,
    cacheControl: false,
    preCompressed: true,
    dotfiles: 'ignore',
    setHeaders(reply, path) {
      reply.header(
        'cache-control',
        path.startsWith(assets) ? YEAR : path.startsWith(loginPage) ? 'no-store' : 'no-cache',
      );
    },
  });

  const schema = {
    operationId: 'get_login_page',
    tags: ['service'],
    security: [],
    summary: 'Get the page that a login link opens',
    description: 'The page creates the key of the browser, logs in with the code of the link, and opens the board.',
    querystring: z.looseObject({ code: z.string().optional() }),
    response: {
      200: { description: 'A page', content: { 'text/html': { schema: z.string() } } },
      ...problemsAs(['wrong_origin', 'internal']),
    },
  };
  app.get('/login', { schema }, (_request, reply) => sendPage(reply, 'login.html'));
  if (basePath !== '') app.get('/', { schema: { hide: true } }, (_request, reply) => sendPage(reply, 'index.html'));

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    if (path === '/api' || path.startsWith('/api/')) {
      const text = `There is no ${request.method} ${path}; /api/openapi.json lists all routes.`;
      return sendProblem(new Rejection('not_found', text), request.log, reply);
    }
    return isPage(request, path)
      ? sendPage(reply, 'index.html')
      : reply.code(404).type('text/plain').send('Not found\n');
  });

  function sendPage(reply: FastifyReply, name: string): FastifyReply {
    const file = join(clientDir, name);
    if (existsSync(file)) return basePath === '' ? reply.sendFile(name) : sendBelow(reply, file);
    return reply.code(500).type('text/plain; charset=utf-8').send(NOT_BUILT);
  }

  function sendBelow(reply: FastifyReply, file: string): FastifyReply {
    const html = readFileSync(file, 'utf8')
      .replace(/((?:href|src)=")\//g, `$1${basePath}/`)
      .replace('<head>', `<head><meta name="base-path" content="${basePath}" />`);
    return reply.type('text/html; charset=utf-8').header('cache-control', 'no-store').send(html);
  }
}

function isPage({ method, headers }: FastifyRequest, path: string): boolean {
  if (method !== 'GET' || path.startsWith('/assets/')) return false;
  return path === '/' || headers.accept?.includes('text/html') === true;
}

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
  tls !== null && publicUrl !== null && new URL(publicUrl).port === '' && basePathOf({ publicUrl }) === '';

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

/** A service worker that unregisters itself and reloads its pages from the server. */
const KILL_SWITCH = `self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => {
  const leave = async () => {
    await self.registration.unregister();
    for (const client of await self.clients.matchAll()) await client.navigate(client.url);
  };
  event.waitUntil(leave());
});
`;

/**
 * Callboard has one service worker. If a browser asks for an update of another one, a program that used this port before left
 * it behind, and it would keep answering for Callboard: it gets a kill switch, whatever its path.
 * @returns whether the request was answered
 */
export function sendKillSwitch({ headers, url }: FastifyRequest, reply: FastifyReply): boolean {
  if (headers['service-worker'] !== 'script' || url === WORKER_PATH) return false;
  reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-store').send(KILL_SWITCH);
  return true;
}
