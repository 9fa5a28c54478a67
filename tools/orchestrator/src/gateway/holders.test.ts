import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { holdersOfConnection, holdersOfFile, holdOfConnection, isHeld } from './callers.ts';

const onLinux = it.runIf(process.platform === 'linux');

/** A connection to this process, and its other end as a server sees it. */
async function connected(host: string) {
  const server = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const client = connect({ port, host, allowHalfOpen: true });
  onTestFinished(() => void client.destroy());
  const [own] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void own.destroy());
  const peer = { address: host, port: own.remotePort ?? 0, ownAddress: host, ownPort: port };
  return { client, peer };
}

for (const host of ['127.0.0.1', '::1']) {
  onLinux(`finds the process at the other end of a connection over ${host}, until it has closed it`, async () => {
    const { client, peer } = await connected(host);
    await once(client, 'connect');
    expect(await holdersOfConnection(peer)).toMatchObject({ visible: [process.pid], isOurs: true });
    client.end(); // it could still read an answer
    await once(client, 'finish');
    expect((await holdersOfConnection(peer)).visible).toEqual([process.pid]);
    client.destroy();
    await until('nobody has it', async () => (await holdersOfConnection(peer)).visible.length === 0);
    expect(await holdersOfConnection({ ...peer, address: '192.0.2.1' })).toMatchObject({ visible: [], isOurs: false });
  });
}

onLinux('sees at a glance that a process still has a connection, and not another one at the same port', async () => {
  const { client, peer } = await connected('127.0.0.1');
  await once(client, 'connect');
  expect(await holdOfConnection(peer, 1)).toBeNull();
  const hold = (await holdOfConnection(peer, process.pid)) ?? expect.fail();
  expect(isHeld(hold)).toBe(true);
  client.destroy();
  await until('it is closed', () => !isHeld(hold));
  expect(await holdOfConnection(peer, process.pid)).toBeNull();
});

onLinux('finds the process that has a file open', async () => {
  const path = join(await temporaryFolder(), 'held');
  await writeFile(path, '');
  expect((await holdersOfFile(path)).visible).toEqual([]);
  {
    await using _held = await open(path, 'r');
    expect((await holdersOfFile(path)).visible).toEqual([process.pid]);
  }
  expect((await holdersOfFile(path)).visible).toEqual([]);
});
