import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInstalled } from '../../../scripts/debian.ts';
import type { AtEnd } from '../../../test-support/temporary-folder.ts';
import { until } from '../../../test-support/until.ts';

const RELAY = fileURLToPath(new URL('relay-main.ts', import.meta.url));
const NAMES = '/run/netns';
const NAME = /^callboard-(\d+)-\d+$/;

/** A network of its own, which has one wire to this one. */
export interface Namespace {
  /** What a command line begins with that runs in it. */
  readonly prefix: readonly [command: string, ...args: string[]];
  /** This side's address on the wire. */
  readonly host: string;
  /** Its own address on the wire. */
  readonly own: string;
  /** Pulls the wire out, and plugs it in. Open connections hear nothing of it; who connects there is told that there is no way. */
  setWire(isUp: boolean): void;
  /** Drops each packet in both directions, or lets all pass again. Nobody is told anything: nothing answers, and nothing is refused. */
  setDropping(isDropping: boolean): void;
  /** Makes a socket in a folder reachable at a port of its own address. */
  open(port: number, socket: string): Promise<void>;
  /** Makes a port on the loopback address there reachable here by a socket in the folder. */
  offer(port: number, socket: string): Promise<void>;
  /** Makes a port on the loopback address here reachable there under the same number, over no wire. */
  lend(port: number, folder: string): Promise<void>;
}

let count = 0;

/** Whether networks can be made here: as root, on a system that has them. */
export function canMakeNamespaces(): boolean {
  if (process.getuid?.() !== 0 || !['ip', 'nsenter'].every(isInstalled)) return false;
  try {
    const trial = `callboard-${process.pid}-${++count}`;
    ip('netns', 'add', trial);
    ip('netns', 'del', trial);
    return true;
  } catch {
    return false;
  }
}

/** Makes a network that is removed at the end, with those that a killed run has left. */
export function makeNamespace(atEnd: AtEnd): Namespace {
  removeLeft();
  const number = ++count;
  const name = `callboard-${process.pid}-${number}`;
  const wire = `cb${process.pid % 1_000_000}-${number}`;
  const subnet = `10.${201 + (process.pid % 50)}.${(process.pid >> 6) % 250}`;
  const [here, there] = [`${subnet}.${4 * number + 1}`, `${subnet}.${4 * number + 2}`];
  ip('netns', 'add', name);
  atEnd(() => void ip('netns', 'del', name)); // and the wire with it
  ip('link', 'add', wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('addr', 'add', `${here}/30`, 'dev', wire);
  ip('-n', name, 'addr', 'add', `${there}/30`, 'dev', 'eth0');
  ip('-n', name, 'link', 'set', 'lo', 'up');
  ip('-n', name, 'link', 'set', 'eth0', 'up');
  ip('link', 'set', wire, 'up');
  const prefix = ['nsenter', `--net=${join(NAMES, name)}`, '--'] as const;

  async function relay(from: string, to: string): Promise<void> {
    const [command, ...args] = prefix;
    const child = spawn(command, [...args, process.execPath, RELAY, from, to], { stdio: ['pipe', 'pipe', 'inherit'] });
    atEnd(() => end(child));
    await once(child.stdout, 'data');
  }

  return {
    prefix: [...prefix],
    host: here,
    own: there,
    setWire: (isUp) => void ip('link', 'set', wire, isUp ? 'up' : 'down'),
    setDropping(isDropping) {
      const [verb, neighbour] = isDropping ? (['replace', NOBODY] as const) : (['del', []] as const);
      ip('neigh', verb, there, 'dev', wire, ...neighbour);
      ip('-n', name, 'neigh', verb, here, 'dev', 'eth0', ...neighbour);
    },
    open: (port, socket) => relay(`${there}:${port}`, socket),
    offer: (port, socket) => relay(socket, `${port}`),
    async lend(port, folder) {
      const socket = join(folder, `lent-${port}.sock`);
      const server = createServer((client) => {
        const target = connect(port, '127.0.0.1');
        for (const side of [client, target]) side.on('error', () => void [client.destroy(), target.destroy()]);
        client.pipe(target).pipe(client);
      }).listen(socket);
      atEnd(() => void server.close());
      await once(server, 'listening');
      await relay(`${port}`, socket);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  await until('a relay ends', () => child.exitCode !== null || child.signalCode !== null);
}

function removeLeft(): void {
  for (const name of readdirSync(NAMES, { withFileTypes: true }).map((entry) => entry.name)) {
    const pid = Number(NAME.exec(name)?.[1]);
    if (!Number.isNaN(pid) && pid !== process.pid && !isAlive(pid)) ip('netns', 'del', name);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * Each side sends to an address of the wire that nobody has, so that the other side's system drops it. Dropped by a queue of the sender, a
 * packet would be one that its own system knows of, and does not count as unanswered.
 */
const NOBODY = ['lladdr', '02:00:00:00:00:01', 'nud', 'permanent'];

const ip = (...args: string[]): string => execFileSync('ip', args, { stdio: 'pipe' }).toString();
