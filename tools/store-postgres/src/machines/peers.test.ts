import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { boardView, type MachineId, StageId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { until } from '../../../../test-support/until.ts';
import type { CommandHandlers } from '../../../orchestrator/src/core/commands/command-handler.ts';
import { openGateway } from '../../../orchestrator/src/gateway/gateway.ts';
import { machineId } from '../../../orchestrator/test/support/test-machines.ts';
import { openTestStore, silent } from '../../../orchestrator/test/support/test-store.ts';
import { createPeerLinks, createPeerServer } from './peers.ts';

const SILENCE_MS = 1_000;
const SECRET = 'a secret between two parts';
const [mine, theirs] = [StageId.parse('STAGE-1'), StageId.parse('STAGE-2')];
const [one, two] = [machineId(1), machineId(2)];
const owners = new Map([
  [mine, one],
  [theirs, two],
]);

/** A machine's gateway. It shows others a secret, and can be told whose it knows. */
async function openMachine(here: MachineId, addressOf: (id: MachineId) => string | null, shown = `secret-of-${here}`) {
  const { store } = await openTestStore();
  const asked: string[] = [];
  const gateway = await openGateway({
    store,
    log: silent,
    host: '127.0.0.1',
    port: 0,
    secret: SECRET,
    version: '0',
    board: async () => boardView(await store.board()),
    handlers: {
      watch: async ({ stageIds }, { watch }) => {
        watch(stageIds);
        return {};
      },
    } as Pick<CommandHandlers, 'watch'> as CommandHandlers, // no other command is sent
    callers: { requireConnection: async () => undefined },
    logins: { check: () => ({ actor: { name: 'Ada' }, loginId: null, kind: 'token' }) },
    peers: {
      entry: createPeerServer({
        log: silent,
        silenceMs: SILENCE_MS,
        async isKnown(id, secret) {
          asked.push(id);
          return secret === `secret-of-${id}`;
        },
      }),
      linksWith: (onFrame) =>
        createPeerLinks({
          log: silent,
          here,
          secret: shown,
          onFrame,
          ownerOf: (id: StageId) => owners.get(id) ?? null,
          addressOf: async (id) => addressOf(id),
          silenceMs: SILENCE_MS,
        }),
    },
  });
  onTestFinished(gateway.close);
  return { gateway, asked, url: `ws://127.0.0.1:${gateway.port}` };
}

async function openClient(url: string) {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${SECRET}` } });
  onTestFinished(() => socket.terminate());
  const frames: { type: string; data?: { stageId?: string; text?: string } }[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  await once(socket, 'message');
  const watch = (...stageIds: StageId[]) =>
    socket.send(JSON.stringify({ type: 'watch', stageIds, actor: { name: 'Ada' } }));
  return { watch, texts: () => frames.flatMap(({ type, data }) => (type === 'text_delta' ? [data?.text] : [])) };
}

const delta = (stageId: StageId, text: string) => ({
  stageId,
  text,
  blockId: 'b',
  kind: 'text' as const,
  offset: 0,
  parentToolUseId: null,
});

it('brings the live text of another machine to those who watch its stage, and to nobody else', async () => {
  const far = await openMachine(two, () => null);
  const near = await openMachine(one, (id) => (id === two ? far.url : null));
  const [watching, other] = [await openClient(near.url), await openClient(near.url)];
  watching.watch(theirs);
  other.watch(mine);
  await until('it arrives', () => {
    far.gateway.onTextDelta(delta(theirs, 'far'));
    return watching.texts().includes('far');
  });
  far.gateway.onTextDelta(delta(mine, 'of a stage that it does not have'));
  near.gateway.onTextDelta(delta(mine, 'near'));
  await until('the own text arrives', () => other.texts().includes('near'));
  expect(other.texts()).toEqual(['near']);
  expect(new Set(watching.texts())).toEqual(new Set(['far']));
});

it('connects to no machine while nobody watches its stages', async () => {
  const far = await openMachine(two, () => null);
  const near = await openMachine(one, () => far.url);
  const client = await openClient(near.url);
  client.watch(mine);
  near.gateway.onTextDelta(delta(mine, 'near'));
  await until('the watch is known', () => {
    near.gateway.onTextDelta(delta(mine, 'near'));
    return client.texts().length > 0;
  });
  expect(far.asked).toEqual([]);
});

it.each(['/', '/machine'])(
  'outlives clients that ask at %s with a wrong secret and are gone before the answer',
  async (path) => {
    const { url } = await openMachine(one, () => null);
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on('uncaughtException', note);
    onTestFinished(() => void process.off('uncaughtException', note));
    const request = [
      ...[`GET ${path} HTTP/1.1`, 'Host: desk', `Authorization: Bearer ${two}:wrong`, 'Connection: Upgrade'],
      ...['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', ''],
    ].join('\r\n');
    for (let times = 0; times < 20; times += 1) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      const sent = new Promise((resolve) => socket.write(request, resolve));
      await sent;
      socket.resetAndDestroy();
    }
    await openClient(url); // what came before has been dealt with
    expect(uncaught).toEqual([]);
  },
);

it('shows nothing to a machine with a wrong secret', async () => {
  const far = await openMachine(two, () => null);
  const near = await openMachine(one, () => far.url, 'another-secret');
  const client = await openClient(near.url);
  client.watch(theirs);
  await until('it asks twice', () => far.asked.length >= 2);
  far.gateway.onTextDelta(delta(theirs, 'far'));
  expect(client.texts()).toEqual([]);
});

it('connects again when the other machine is back', async () => {
  let address: string | null = null;
  const near = await openMachine(one, () => address);
  const client = await openClient(near.url);
  client.watch(theirs);
  const far = await openMachine(two, () => null);
  address = far.url;
  await until('it arrives', () => {
    far.gateway.onTextDelta(delta(theirs, 'far'));
    return client.texts().length > 0;
  });
});

/** A network that can drop all that is on its way, and tell nobody; connections that are made later pass. */
async function openNetwork(url: string) {
  const open: Socket[][] = [];
  const server = createServer((near) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    for (const side of [near, far]) side.on('error', () => undefined);
    near.pipe(far).pipe(near);
    open.push([near, far]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open.flat()) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    url: `ws://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    fallSilent: () => {
      for (const [near, far] of open) {
        if (near === undefined || far === undefined) continue;
        near.unpipe(far).resume();
        far.unpipe(near).resume();
      }
    },
    /** The connections that this side of it has ended; the other side hears nothing of it. */
    ended: () => [0, 1].map((side) => open.filter((pair) => pair[side]?.readableEnded || pair[side]?.destroyed).length),
  };
}

it('connects again after the network has dropped everything and told nobody, and both machines end what was before', async () => {
  const far = await openMachine(two, () => null);
  const network = await openNetwork(far.url);
  const near = await openMachine(one, () => network.url);
  const client = await openClient(near.url);
  client.watch(theirs);
  const arrives = (text: string) =>
    until(`${text} arrives`, () => {
      far.gateway.onTextDelta(delta(theirs, text));
      return client.texts().includes(text);
    });
  await arrives('before');
  network.fallSilent();
  await arrives('after');
  await until('both have ended it', () => network.ended().every((count) => count > 0));
});
