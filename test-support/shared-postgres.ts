import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, SHARED_VARIABLE, startPostgres } from './postgres.ts';

/**
 * For `globalSetup`: the main process starts PostgreSQL when the first test of any worker asks for it, so that a run has one
 * server at most, and none without need. @returns how to end it after the last test
 */
export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env[SHARED_VARIABLE] !== undefined) return async () => undefined; // another project of this run does it
  const folder = await mkdtemp(join(tmpdir(), 'callboard-ask-postgres-'));
  const ends: (() => void | Promise<void>)[] = [];
  let started: Promise<PostgresServer> | undefined;
  const server = createServer(async (socket) => {
    socket.on('error', () => undefined); // a worker that was killed while it waited
    try {
      started ??= startPostgres((end) => void ends.push(end));
      socket.end(JSON.stringify((await started).address));
    } catch (error) {
      socket.end(String(error));
    }
  });
  server.listen(join(folder, 'ask'));
  await once(server, 'listening');
  process.env[SHARED_VARIABLE] = join(folder, 'ask');
  return async () => {
    server.close();
    await started?.catch(() => undefined);
    for (const end of ends.toReversed()) await end();
    await rm(folder, { recursive: true });
  };
}
