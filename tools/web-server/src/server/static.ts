import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Rejection } from './errors.ts';
import { sendProblem } from './http-error.ts';
import { problemsAs } from './openapi/responses.ts';

const NOT_BUILT = 'The client is not built; run npm install (or npm run build).\n';
const YEAR = 'public, max-age=31536000, immutable';

/**
 * Serves the built client from `clientDir`. Files under `assets/` have a hash in their names and are cached for ever;
 * browsers revalidate everything else. A file with a compressed copy beside it (`.br`, `.gz`) is sent compressed. Paths of the client's router get `index.html`. The build may appear, or be replaced,
 * while the server runs.
 */
export async function serveClient(app: FastifyInstance, clientDir: string): Promise<void> {
  const assets = `${join(clientDir, 'assets')}${sep}`;
  const loginPage = join(clientDir, 'login.html');
  await app.register(fastifyStatic, {
    root: clientDir,
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
    if (existsSync(join(clientDir, name))) return reply.sendFile(name);
    return reply.code(500).type('text/plain; charset=utf-8').send(NOT_BUILT);
  }
}

function isPage({ method, headers }: FastifyRequest, path: string): boolean {
  if (method !== 'GET' || path.startsWith('/assets/')) return false;
  return path === '/' || headers.accept?.includes('text/html') === true;
}
