/** Attacks on ports and sockets. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { messageOf, missing, reached, refused } from './outcomes.ts';
import type { Attack, Outcome } from './targets.ts';

const PATIENCE_MS = 10_000;

function touch(address: { host: string; port: number } | { path: string }): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const socket = connect(address);
  socket.setTimeout(PATIENCE_MS, () => resolve(refused('no answer')));
  socket.once('connect', () => resolve(reached(JSON.stringify(address))));
  socket.once('error', (error) => resolve(refused(messageOf(error))));
  return promise.finally(() => socket.destroy());
}

/** Connects through the proxy that a sandbox names to its commands. */
function tunnel(proxy: string, host: string, port: number): Promise<Outcome> {
  const { hostname, port: proxyPort, username, password } = new URL(proxy);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
  const asked = request({
    host: hostname,
    port: proxyPort,
    method: 'CONNECT',
    path: `${host}:${port}`,
    headers: { 'proxy-authorization': authorization },
  });
  const settle = (status = 0) =>
    resolve(status === 200 ? reached(`${host}:${port} by the proxy`) : refused(`the proxy says ${status}`));
  asked.once('connect', (response) => settle(response.statusCode));
  asked.once('response', (response) => settle(response.statusCode));
  asked.once('error', (error) => resolve(refused(messageOf(error))));
  asked.end();
  return promise.finally(() => asked.destroy());
}

async function firstThat(ways: readonly (() => Promise<Outcome>)[]): Promise<Outcome> {
  const said = new Set<string>();
  for (const way of ways) {
    const outcome = await way();
    if (outcome.result === 'reached') return outcome;
    said.add(outcome.detail);
  }
  return refused([...said].join('; '));
}

const LOOPBACK = ['127.0.0.1', '::1'];

export const networkAttacks: Record<string, Attack> = {
  ports: ({ ports }) => firstThat(ports.flatMap((port) => LOOPBACK.map((host) => () => touch({ host, port })))),
  /** Outside a sandbox there is no proxy to try. */
  'ports-proxy': ({ ports }) => {
    const proxy = process.env.HTTPS_PROXY ?? process.env.HTTP_PROXY;
    if (proxy === undefined) return missing('a proxy');
    return firstThat(
      ports.flatMap((port) => ['127.0.0.1', 'localhost'].map((host) => () => tunnel(proxy, host, port))),
    );
  },
  sockets: ({ sockets }) => firstThat(sockets.map((path) => () => touch({ path }))),
  /** The socket on which other sessions of Claude Code send messages. */
  messaging: () => {
    const path = process.env.CLAUDE_CODE_MESSAGING_SOCKET;
    return path === undefined ? missing('a messaging socket') : touch({ path });
  },
};
