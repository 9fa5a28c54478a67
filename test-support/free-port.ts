import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Systems give outgoing connections the ports above: one of those could be taken before the program listens. */
const [FIRST, END] = [20_000, 32_000];

/** Resolves with a port of 127.0.0.1 that nobody listens on, for a program that has to be told one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false, // somebody listens there
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
