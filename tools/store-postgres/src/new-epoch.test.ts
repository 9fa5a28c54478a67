import { once } from 'node:events';
import { boardView } from '@callboard/contract';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { createDatabaseOn, postgresLack, startPostgres } from '../../../test-support/postgres.ts';
import type { CommandHandlers } from '../../orchestrator/src/core/commands/command-handler.ts';
import { openGateway } from '../../orchestrator/src/gateway/gateway.ts';
import { sampleProject, silent, stageId, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from './postgres-store.ts';

const note = { type: 'transcript-appended' as const, data: { stageId: stageId('S1'), index: 1 } };

it.skipIf(postgresLack !== '')(
  'tells clients when the database was started again, though no event follows',
  async () => {
    const server = await startPostgres();
    const address = parseDatabaseUrl(await createDatabaseOn(server.address));
    const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
    onTestFinished(store.close);
    await store.transact((tx) => tx.projects.save(sampleProject()));
    const gateway = await openGateway({
      store,
      board: async () => boardView(await store.board()),
      log: silent,
      handlers: {} as CommandHandlers, // no test sends a command
      callers: { requireConnection: async () => undefined },
      logins: { check: () => ({ actor: { name: 'Ada' }, loginId: null, kind: 'token' }) },
      host: '127.0.0.1',
      port: 0,
      secret: 'secret',
      version: '0',
    });
    onTestFinished(gateway.close);
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}`, { headers: { authorization: 'Bearer secret' } });
    const frames: { type: string; seq: number }[] = [];
    socket.on('message', (data) => frames.push(JSON.parse(String(data))));
    await once(socket, 'message');
    await store.transact((tx) => tx.emit(note));
    await expect.poll(() => frames.map(({ type, seq }) => ({ type, seq }))).toMatchObject([{ seq: 0 }, { seq: 1 }]);
    await server.stop('fast');
    await server.start();
    await expect.poll(() => frames.length, { timeout: 20_000 }).toBe(3);
    expect(frames[2]).toMatchObject({ type: 'init', seq: await store.read.events.lastSeq() });
    expect(frames[2]?.seq).toBeGreaterThan(1_000_000_000);
  },
);
