import { readdir, readFile, readlink } from 'node:fs/promises';

/** A TCP port of this machine on which a program listens. */
interface Listener {
  port: number;
  /** Identifies its socket. */
  inode: string;
}

/** The state of a socket that listens, in `/proc/net/tcp`. */
const LISTENS = '0A';

/** Reads the lines of `/proc/net/tcp` and `tcp6`. */
const parseListeners = (text: string): Listener[] =>
  text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
      return state === LISTENS && Number.isInteger(port) ? [{ port, inode }] : [];
    });

async function listeners(): Promise<Listener[]> {
  const texts = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  return texts.flatMap(parseListeners);
}

/** The ports on which any program listens. Needs `/proc`; without it there are none. */
export const usedPorts = async (): Promise<ReadonlySet<number>> => new Set((await listeners()).map(({ port }) => port));

/** The ports on which these processes listen, ascending. */
export async function portsOf(pids: readonly number[]): Promise<number[]> {
  const sockets = new Set((await Promise.all(pids.map(socketsOf))).flat());
  const found = (await listeners()).filter(({ inode }) => sockets.has(inode)).map(({ port }) => port);
  return [...new Set(found)].toSorted((a, b) => a - b);
}

async function socketsOf(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}
