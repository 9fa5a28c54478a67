import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { FromServer } from '@callboard/runtime/supervision';
import { afterEach, expect, it } from 'vitest';
import { COMPILE_CACHE } from '../../../../test-support/compile-cache.ts';
import { freePort } from '../../../../test-support/free-port.ts';
import { createFakeOrchestrator, SECRET } from '../../test/fake-orchestrator.ts';
import { openStream } from '../../test/sse-client.ts';

const LOOPBACK = { publicUrl: null, proxies: [], tls: null };

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

function startMain() {
  const child: ChildProcess = fork(join(import.meta.dirname, 'main.ts'), {
    execArgv: ['--import', COMPILE_CACHE],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  cleanUp.push(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  return {
    child,
    exited,
    stderr: () => stderr,
    async configure(config: object): Promise<FromServer> {
      const answer = once(child, 'message');
      child.send({ type: 'configure', config });
      return FromServer.parse((await answer)[0]);
    },
  };
}

async function startOrchestrator() {
  const orchestrator = createFakeOrchestrator();
  await orchestrator.start();
  cleanUp.push(orchestrator.kill);
  return {
    orchestrator,
    config: {
      host: '127.0.0.1',
      port: 0,
      exposure: LOOPBACK,
      orchestrator: { url: orchestrator.url(), secret: SECRET },
    },
  };
}

it.each(['SIGTERM', 'SIGINT', 'disconnect'] as const)(
  'says that it is ready, and ends on %s with a stream open',
  async (how) => {
    const { orchestrator, config } = await startOrchestrator();
    const { child, configure, exited, stderr } = startMain();
    const ready = await configure(config);
    if (ready.type !== 'ready') throw new Error(JSON.stringify(ready));
    const address = `http://127.0.0.1:${ready.port}`;
    expect((await fetch(`${address}/api/health`)).status).toBe(200);
    const stream = await openStream(`${address}/api/events`);
    orchestrator.emit();
    await expect.poll(stream.ids).toEqual([1]);

    if (how === 'disconnect') child.disconnect();
    else child.kill(how);
    expect(await exited).toEqual([0, null]);
    await expect.poll(stream.closed).toBe(true);
    expect(stderr()).toBe('');
  },
);

it('is ready before the orchestrator is', async () => {
  const { configure } = startMain();
  const ready = await configure({
    host: '127.0.0.1',
    port: 0,
    exposure: LOOPBACK,
    orchestrator: { url: 'ws://127.0.0.1:9', secret: SECRET },
  });
  if (ready.type !== 'ready') throw new Error(JSON.stringify(ready));
  const health = await fetch(`http://127.0.0.1:${ready.port}/api/health`);
  expect([health.status, await health.json()]).toEqual([503, { status: 'starting' }]);
});

it('gives up with clear words when the port is taken', async () => {
  const portHolder = createServer().listen(0, '127.0.0.1');
  await once(portHolder, 'listening');
  cleanUp.push(() => portHolder.close());
  const address = portHolder.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const { configure, exited } = startMain();
  const { config } = await startOrchestrator();
  expect(await configure({ ...config, port })).toEqual({
    type: 'failed',
    code: 'port_in_use',
    fatal: true,
    message: `Port ${port} on 127.0.0.1 is in use by another program. Choose another with --port, or stop what uses it.`,
  });
  expect(await exited).toEqual([1, null]);
});

it('gives up on a configuration that it cannot read', async () => {
  const { configure, exited } = startMain();
  expect(await configure({ host: '127.0.0.1' })).toMatchObject({ type: 'failed', code: 'bad_config', fatal: true });
  expect(await exited).toEqual([1, null]);
});

it('says that it is ready once it can be used', async () => {
  const { orchestrator, config } = await startOrchestrator();
  await orchestrator.kill();
  const port = await freePort();
  const { configure } = startMain();
  let isReady = false;
  const ready = configure({ ...config, port }).then((answer) => {
    isReady = true;
    return answer;
  });
  const health = async () => (await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => null))?.status;
  await expect.poll(health, { interval: 10 }).toBe(503);
  expect(isReady).toBe(false);
  await orchestrator.start();
  expect(await ready).toEqual({ type: 'ready', port });
  expect(await health()).toBe(200);
});

it('listens while the orchestrator is still starting, and is ready once it was told where that is', async () => {
  const { orchestrator, config } = await startOrchestrator();
  const port = await freePort();
  const { child, configure } = startMain();
  let isReady = false;
  const ready = configure({
    host: '127.0.0.1',
    port,
    exposure: LOOPBACK,
    orchestrator: { url: null, secret: SECRET },
  }).then((answer) => {
    isReady = true;
    return answer;
  });
  const health = async () => (await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => null))?.status;
  await expect.poll(health, { interval: 10 }).toBe(503);
  expect([isReady, orchestrator.upgrades()]).toEqual([false, 0]);
  child.send({ type: 'orchestrator-at', url: config.orchestrator.url });
  expect(await ready).toEqual({ type: 'ready', port });
  expect(await health()).toBe(200);
});

it('ends when it is told to before it knows where the orchestrator is', async () => {
  const { child, configure, exited } = startMain();
  const port = await freePort();
  void configure({ host: '127.0.0.1', port, exposure: LOOPBACK, orchestrator: { url: null, secret: SECRET } }).catch(
    () => undefined,
  );
  const health = async () => (await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => null))?.status;
  await expect.poll(health, { interval: 10 }).toBe(503);
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});
