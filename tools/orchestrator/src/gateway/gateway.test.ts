import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { boardView, StageId } from '@callboard/contract';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { openTestStore, silent } from '../../test/support/test-store.ts';
import type { CommandHandlers } from '../core/commands/command-handler.ts';
import type { Tx } from '../store/store.ts';
import { openGateway } from './gateway.ts';

afterEach(() => void vi.restoreAllMocks());

const SECRET = 'a secret between two parts';

/** Opens a gateway on a store, and clients that have received their `init`. */
async function setUp(clients: number) {
  const { store } = await openTestStore();
  const gateway = await openGateway({
    store,
    board: async () => boardView(await store.board()),
    log: silent,
    handlers: {} as CommandHandlers, // no test sends a command
    callers: { requireConnection: async () => undefined },
    logins: { check: () => ({ actor: { name: 'Ada' }, loginId: null, kind: 'token' }) },
    host: '127.0.0.1',
    port: 0,
    secret: SECRET,
    version: '0',
  });
  onTestFinished(gateway.close);
  const connect = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}`, { headers: { authorization: `Bearer ${SECRET}` } });
    const frames: { type: string; seq: number; data: unknown }[] = [];
    socket.on('message', (data) => frames.push(JSON.parse(String(data))));
    await once(socket, 'message');
    frames.length = 0;
    return { frames };
  };
  return { store, clients: await Promise.all(Array.from({ length: clients }, connect)) };
}

/** An event that counts how often it is serialized. */
function counted() {
  const toJSON = vi.fn(() => ({ stageId: 'STAGE-1', mode: 'plan' }));
  const data = { stageId: StageId.parse('STAGE-1'), mode: 'plan', toJSON };
  return { toJSON, emit: (tx: Tx) => tx.emit({ type: 'mode-changed', data }) };
}

it('serializes an event once for all clients', async () => {
  const { store, clients } = await setUp(5);
  const stored = counted();
  await store.transact((tx) => stored.emit(tx));
  for (const { frames } of clients) await expect.poll(() => frames).toMatchObject([{ type: 'mode_changed' }]);
  expect(stored.toJSON).toHaveBeenCalledTimes(2); // once for the log, once for all clients
});

it('does not load the HTTP client of Node', async () => {
  const gateway = JSON.stringify(new URL('./gateway.ts', import.meta.url));
  const program = `await import(${gateway}); console.log(process.moduleLoadList.some((name) => name.includes('undici')));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout).toBe('false\n');
});

it('sends all events of a commit in one write', async () => {
  const { store, clients } = await setUp(1);
  const writes = vi.spyOn(Socket.prototype, '_writev');
  await store.transact(async (tx) => {
    for (let i = 0; i < 4; i++) await counted().emit(tx);
  });
  await expect.poll(() => clients[0]?.frames.length).toBe(4);
  expect(writes).toHaveBeenCalledOnce();
  await store.transact((tx) => counted().emit(tx));
  await expect.poll(() => clients[0]?.frames.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
});
