import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { endianness } from 'node:os';
import type { Peer } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { mapInSlices } from '../../lib/breath.ts';
import { listPids } from './process-table.ts';

/** Who has a file or the end of a connection open. */
export interface Holders {
  visible: number[];
  /** If none is visible: the processes of this account whose open files nobody may list. One of them may be it. */
  hidden: number[];
  /** A program of this account opened it, so if nobody has it, somebody hides it. */
  isOurs: boolean;
}

const NONE: Holders = { visible: [], hidden: [], isOurs: false };

/** A process that has the other end of a connection open, and where. */
export interface Hold {
  readonly pid: number;
  readonly fd: string;
  readonly link: string;
}

/** Returns how a process holds the other end of a connection; null if it does not. */
export async function holdOfConnection(peer: Peer, pid: number): Promise<Hold | null> {
  const socket = await findSocket(peer);
  if (socket === null) return null;
  const link = `socket:[${socket.inode}]`;
  try {
    const fd = readdirSync(`/proc/${pid}/fd`).find((one) => linkOf(`/proc/${pid}/fd/${one}`) === link);
    return fd === undefined ? null : { pid, fd, link };
  } catch {
    return null;
  }
}

/** Whether it still does: one look, where finding it takes a look at every open file of the machine. */
export const isHeld = ({ pid, fd, link }: Hold): boolean => linkOf(`/proc/${pid}/fd/${fd}`) === link;

/**
 * Returns the processes at the other end of a connection, by the kernel's own tables; none if that is not on this machine, or has
 * been closed.
 */
export async function holdersOfConnection(peer: Peer): Promise<Holders> {
  const socket = await findSocket(peer);
  return socket === null ? NONE : { ...(await holdersOf(`socket:[${socket.inode}]`)), isOurs: socket.uid === ownUid() };
}

/** Returns the processes that have this file open. */
export async function holdersOfFile(path: string): Promise<Holders> {
  const real = await realpath(path).catch(() => null);
  return real === null ? NONE : { ...(await holdersOf(real)), isOurs: true };
}

/** Synchronous in slices, because there are thousands: a thread would cost ten times as much. */
async function holdersOf(link: string): Promise<Omit<Holders, 'isOurs'>> {
  const pids = await listPids();
  const found = await mapInSlices(pids, (pid) => doesHold(pid, link));
  const visible = pids.filter((_, index) => found[index] === true);
  if (visible.length > 0) return { visible, hidden: [] };
  return { visible, hidden: pids.filter((pid, index) => found[index] === null && isOfThisAccount(pid)) };
}

/** Null if it may not be read: another account's, or one that has forbidden it (PR_SET_DUMPABLE). */
function doesHold(pid: number, link: string): boolean | null {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => linkOf(`${folder}/${fd}`) === link);
  } catch (error) {
    return systemCode(error) === 'EACCES' ? null : false;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

const ownUid = (): number => process.geteuid?.() ?? -1;

function isOfThisAccount(pid: number): boolean {
  try {
    return new RegExp(`^Uid:.*\\t${ownUid()}\\b`, 'm').test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}

/**
 * Finds the row of the other end: both addresses of our end, the other way round. In any state: who has closed one direction can
 * still read the answer.
 */
async function findSocket({
  address,
  port,
  ownAddress,
  ownPort,
}: Peer): Promise<{ inode: string; uid: number } | null> {
  const theirs = `${hexAddress(address)}:${hexPort(port)}`;
  const ours = `${hexAddress(ownAddress)}:${hexPort(ownPort)}`;
  const table = await readFile(`/proc/self/net/${isIPv4(address) ? 'tcp' : 'tcp6'}`, 'latin1').catch(() => '');
  for (const line of table.split('\n')) {
    const [, local, remote, , , , , uid, , inode] = line.trim().split(/\s+/);
    if (local === theirs && remote === ours && inode !== undefined && inode !== '0') return { inode, uid: Number(uid) };
  }
  return null;
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** As in the kernel's tables: 32-bit words, each in the order of bytes of the machine. */
function hexAddress(address: string): string {
  const bytes = isIPv4(address) ? address.split('.').map(Number) : bytesOfIPv6(address);
  const words = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.slice(index * 4, index * 4 + 4));
  const ordered = words.flatMap((word) => (endianness() === 'LE' ? word.toReversed() : word));
  return Buffer.from(ordered).toString('hex').toUpperCase();
}

function bytesOfIPv6(address: string): number[] {
  const [plain = ''] = address.split('%', 1);
  const [head = '', tail] = plain.split('::', 2).map((part) => part.split(':').filter(Boolean));
  const groups =
    tail === undefined ? [...head] : [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
}
