import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';

/** Another person's program that takes a port, shows its own page to every visitor, and keeps everything it receives. */
export interface PortHolder {
  origin: string;
  /** The headers of all requests. */
  seen: IncomingHttpHeaders[];
  /** What its page sent to it. */
  collected: string[];
  close(): Promise<void>;
}

const pageWith = (script: string) => `<!doctype html><title>Callboard</title><script>${script}</script>`;

/** @param script runs in its page; what it posts to `/collect` is collected. `worker` is its service worker, at `/worker.js` */
export async function squat(port: number, script: string, worker = ''): Promise<PortHolder> {
  const seen: IncomingHttpHeaders[] = [];
  const collected: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    const parts: string[] = [];
    request.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    request.on('end', () => {
      if (request.url === '/collect') collected.push(parts.join(''));
      if (request.url === '/worker.js') response.setHeader('content-type', 'text/javascript').end(worker);
      else response.setHeader('content-type', 'text/html').end(pageWith(script));
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it has no port');
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  onTestFinished(close);
  return { origin: `http://127.0.0.1:${address.port}`, seen, collected, close };
}
