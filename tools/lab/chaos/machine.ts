import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Installation, install, ofClone, type Running } from '../../../e2e/support/callboard.ts';
import { freePort } from '../../../test-support/free-port.ts';
import { git } from '../../../test-support/git.ts';
import { type AtEnd, temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { entryOf, type ProxyEntry } from './cutting-proxy.ts';
import { createLinkProxy, type LinkProxy } from './link-proxy.ts';
import { makeNamespace, type Namespace } from './namespaces.ts';
import type { Random } from './random.ts';
import type { Servers } from './servers.ts';

export const TOKEN = 'a-token-for-the-time-of-the-test';

/** One Callboard: its installation, and what runs of it. */
export interface Machine {
  readonly name: string;
  readonly installation: Installation;
  /** Null with a store in a file. */
  readonly link: Link | null;
  /** The way from the other machines to this one, for live text. Null with a store in a file. */
  readonly peers: LinkProxy | null;
  /** Lets this machine reach another one. */
  meet(other: Machine): Promise<void>;
  /** The process that was started as `npm start` does; a new one after each restart. */
  startedPid(): number;
  /** Starts Callboard; again after its supervisor was killed. */
  start(): Promise<void>;
  /** Where its web server is now. */
  entry(): ProxyEntry;
  stop(): Promise<void>;
}

/** The way from a machine to the database. */
export interface Link {
  /** Cuts one connection in the middle of its traffic; returns false if there is none. */
  cutOne(): boolean;
  /**
   * `refuse`: as when a process is gone; `swallow`: as when a cable is pulled; `drop`: as when a firewall on the way drops every packet,
   * so that not even this machine's own system knows. Without a network of its own, the last two are the same.
   */
  block(how: 'refuse' | 'swallow' | 'drop'): void;
  unblock(): void;
}

export interface MachineOptions {
  name: string;
  isEmulated: boolean;
  random: Random;
  /** The database that machines share, as seen from here; null for a store in a file. */
  database: Pick<Servers, 'url' | 'ports'> | null;
  /** Whether the machine gets a network of its own. */
  hasNamespace: boolean;
  atEnd: AtEnd;
}

/** The same on every machine: nobody asks it, its name is all that counts. */
const REMOTE = 'git://127.0.0.1:1/team/shop.git';
/** In a network of its own any port is free. */
const PORT_IN_NAMESPACE = 3_100;
const ORCHESTRATOR_PORT_IN_NAMESPACE = 3_101;

/** Installs Callboard in a folder of its own, with a link to the database that can be cut. */
export async function createMachine(options: MachineOptions): Promise<Machine> {
  const { name, isEmulated, random, database, hasNamespace, atEnd } = options;
  const namespace = hasNamespace ? makeNamespace(atEnd) : null;
  const link = database === null ? null : await openLink(database, namespace, options);
  const orchestratorPort = namespace === null ? await freePort() : ORCHESTRATOR_PORT_IN_NAMESPACE;
  const peerSocket = join(await temporaryFolder(atEnd), 'peers.sock');
  const toPeers = namespace === null ? { host: '127.0.0.1', port: orchestratorPort } : { path: peerSocket };
  const peers = database === null ? null : await createLinkProxy(toPeers, random, '127.0.0.1');
  if (peers !== null) atEnd(peers.close);
  const cutSockets = fileURLToPath(new URL('cut-sockets.ts', import.meta.url));
  const env = {
    CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex'),
    NODE_OPTIONS: `--import ${cutSockets}`,
    ...(link !== null && { CALLBOARD_DATABASE_URL: link.url, CALLBOARD_MACHINE_NAME: name }),
    ...(peers !== null && { CALLBOARD_MACHINE_URL: `ws://127.0.0.1:${peers.port}` }),
  };
  const installation = await install(env, atEnd, isEmulated);
  if (database !== null) await git(installation.repo, 'remote', 'add', 'origin', REMOTE);
  const socket = join(installation.folder, 'web.sock');
  if (namespace !== null) {
    await namespace.lend(Number(new URL(installation.model.url).port), installation.folder);
    await namespace.offer(PORT_IN_NAMESPACE, socket);
    await namespace.offer(ORCHESTRATOR_PORT_IN_NAMESPACE, peerSocket);
  }
  let running: Running | undefined;
  return {
    name,
    installation,
    link,
    peers,
    meet: async (other) => {
      if (other.peers !== null) await namespace?.lend(other.peers.port, installation.folder);
    },
    startedPid: () => running?.supervisor.pid ?? -1,
    async start() {
      const ports = ['--orchestrator-port', String(orchestratorPort)];
      const more = database === null ? [] : [...ports, '--trust-shared-store'];
      running = await installation.start(namespace === null ? 0 : PORT_IN_NAMESPACE, within(namespace), more);
    },
    entry() {
      if (running === undefined) throw new Error(`${name} was not started`);
      const entry = entryOf(running.origin);
      return namespace === null ? entry : { ...entry, connect: { path: socket } };
    },
    stop: async () => running?.stop(),
  };
}

function within(namespace: Namespace | null): typeof ofClone {
  if (namespace === null) return ofClone;
  const [node, ...flags] = namespace.prefix;
  return { ...ofClone, node, flags: [...flags, ofClone.node, ...(ofClone.flags ?? [])] };
}

async function openLink(
  { url, ports }: Pick<Servers, 'url' | 'ports'>,
  namespace: Namespace | null,
  { random, atEnd }: MachineOptions,
): Promise<Link & { url: string }> {
  const host = namespace?.host ?? '127.0.0.1';
  const proxies = await Promise.all(ports.map((port) => createLinkProxy({ port, host: '127.0.0.1' }, random, host)));
  for (const { close } of proxies) atEnd(close);
  const hosts = proxies.map(({ port }) => `${host}:${port}`);
  const own = url.replace(`@${new URL(url).host}/`, `@${hosts.join(',')}/`);
  let blocked: Parameters<Link['block']>[0] | null = null;
  /** Whether the network does it, not the proxies. */
  const isCutInNetwork = () => namespace !== null && blocked !== 'refuse';
  return {
    url: own,
    cutOne: () => proxies.some((proxy) => proxy.cutOne()),
    block(how) {
      blocked = how;
      if (!isCutInNetwork()) for (const proxy of proxies) proxy.block(how === 'refuse' ? how : 'swallow');
      else if (how === 'swallow') namespace?.setWire(false);
      else namespace?.setDropping(true);
    },
    unblock() {
      if (!isCutInNetwork()) for (const proxy of proxies) proxy.unblock();
      else if (blocked === 'swallow') namespace?.setWire(true);
      else if (blocked === 'drop') namespace?.setDropping(false);
      blocked = null;
    },
  };
}
