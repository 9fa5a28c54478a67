import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { endianness } from 'node:os';
import { LaunchId, type Peer, type StageId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { type Alarm, alarmOf } from '../core/session/requests.ts';
import { mapInSlices } from '../lib/async.ts';
import { Rejection } from '../lib/errors.ts';
import { createProcessMarks, GIT_MARKER, lockLimitOf } from '../platform/child-processes.ts';
import {
  COMMAND_MARKER,
  describeProcess,
  environmentOf,
  LAUNCH_MARKER,
  listPids,
  readRow,
} from '../platform/process-table.ts';
import type { Logger } from '../platform/runtime.ts';
import type { Store } from '../store/store.ts';

export interface CallersDeps {
  store: Pick<Store, 'read'>;
  dataDir: string;
  /** The sessions with a process on this machine. */
  running: () => readonly { launch: { stageId: StageId } }[];
  raiseAlarm: (stageId: StageId, alarm: Alarm) => Promise<void>;
  log: Logger;
}

/** What is refused where nobody can say which process asks. */
export type Unverified = 'refused' | 'refused-beside-unsandboxed' | 'allowed';

/**
 * Keeps what sessions run from acting as a person. A token or a login link is a file or a text, which a command of Claude's may read
 * where no sandbox hides it; what it cannot be is a process that no session started.
 */
export interface Callers {
  /** Resolves if no session started the process at the other end. @throws Rejection `session_process`, `caller_unknown` */
  requireConnection(peer: Peer | undefined, unverified: Unverified): Promise<void>;
  /** As `requireConnection`, for a program that wants a login and proves itself by keeping this file open. */
  requireHolder(path: string, wanted: 'browser' | 'terminal'): Promise<void>;
  /** Something other than Callboard has written to the store: puts every session that could have done it under alarm. Never rejects. */
  reportStoreWritten(): Promise<void>;
}

type Origin =
  | { kind: 'person' }
  /** Null: what Callboard started for a stage, and it is not known for which. */
  | { kind: 'stage'; stageId: StageId | null; pid: number }
  | { kind: 'git'; pid: number }
  /** `isHiding`: a program of this account asks, and makes sure that nobody can tell which. */
  | { kind: 'unknown'; isHiding: boolean };

/** Only Linux tells which process has a file open. Elsewhere a new browser is announced on every board, and a terminal can wait. */
const HOLDER_UNVERIFIED: Readonly<Record<'browser' | 'terminal', Unverified>> =
  process.platform === 'linux'
    ? { browser: 'refused', terminal: 'refused' }
    : { browser: 'allowed', terminal: 'refused-beside-unsandboxed' };

/** How many connections of persons are remembered. */
const MAX_CONNECTIONS = 1_000;
/** More ancestors than any process has. */
const MAX_ANCESTORS = 100;

const FROM_SESSION =
  'A process that a session started cannot act as a person. Do this on the board, or in a terminal that no session opened.';
const UNKNOWN =
  'Callboard could not tell which process asks, and a session without a sandbox could be behind it. Do this on the board, or in a terminal on this machine under the account that runs Callboard.';

export function createCallers({ store, dataDir, running, raiseAlarm, log }: CallersDeps): Callers {
  const originOf = createOriginLookup(store, dataDir);

  /** Stages of which something runs outside of a sandbox, so that it could have read a person's token. */
  async function unsandboxed(): Promise<StageId[]> {
    const found: StageId[] = [];
    for (const { launch } of running()) {
      const session = await store.read.sessions.find(launch.stageId);
      if (session?.isolation.level !== 'prevented') found.push(launch.stageId);
    }
    const commands = await store.read.worktreeCommands.listRunning();
    for (const { command } of commands) if (command.isolation.level === 'none') found.push(command.stageId);
    return [...new Set(found)];
  }

  /**
   * Connections whose other end a person's process has, with how it holds it: who keeps a connection open is looked for once, since
   * that reads every open file of the machine. Another process at the same address and port has another socket.
   */
  const persons = new Map<string, Hold>();

  async function rememberPerson(key: string, peer: Peer, pid: number | undefined): Promise<void> {
    const hold = pid === undefined ? null : await holdOfConnection(peer, pid);
    if (hold === null) return;
    for (const [other, one] of persons) if (!isHeld(one)) persons.delete(other);
    if (persons.size < MAX_CONNECTIONS) persons.set(key, hold);
  }

  async function require(holders: Holders | null, unverified: Unverified): Promise<void> {
    const origin = await originOf(holders);
    switch (origin.kind) {
      case 'person':
        return;
      case 'unknown':
        if (unverified === 'allowed' && !origin.isHiding) return;
        if (unverified !== 'refused' && (await unsandboxed()).length === 0) return;
        throw new Rejection('caller_unknown', UNKNOWN);
      case 'stage':
        await report(origin);
        throw new Rejection('session_process', FROM_SESSION);
      case 'git':
        log.warn({ pid: origin.pid }, 'a hook of a git call was refused: it acted as a person');
        throw new Rejection('session_process', FROM_SESSION);
      default:
        return origin satisfies never;
    }
  }

  /** Puts the stage under alarm; if that is not known, every session that could have done it. */
  async function report({ stageId, pid }: Extract<Origin, { kind: 'stage' }>): Promise<void> {
    const row = await readRow(pid);
    const command = (row === null ? null : await describeProcess(row))?.command ?? 'unknown';
    log.warn({ stageId, pid, command }, 'a process of a session was refused: it acted as a person');
    const suspects = stageId === null ? await unsandboxed() : [stageId];
    const which = stageId === null ? ' It is not known which session started it.' : '';
    const alarm = alarmOf('used-login', `It was refused: process ${pid}, ${shortened(command)}.${which}`);
    await raiseIn(suspects, alarm);
  }

  async function raiseIn(suspects: readonly StageId[], alarm: Alarm): Promise<void> {
    for (const suspect of suspects) {
      await raiseAlarm(suspect, alarm).catch((error: unknown) =>
        log.error({ err: error, stageId: suspect }, 'raising an alarm failed'),
      );
    }
  }

  return {
    async requireConnection(peer, unverified) {
      if (peer === undefined) return require(null, unverified);
      const key = `${peer.address} ${peer.port} ${peer.ownAddress} ${peer.ownPort}`;
      const known = persons.get(key);
      if (known !== undefined && isHeld(known)) return;
      const holders = await holdersOfConnection(peer);
      await require(holders, unverified);
      await rememberPerson(key, peer, holders.visible[0]);
    },
    async requireHolder(path, wanted) {
      await require(await holdersOfFile(path), HOLDER_UNVERIFIED[wanted]);
    },
    async reportStoreWritten() {
      log.warn('something other than Callboard has written to the store');
      try {
        await raiseIn(await unsandboxed(), alarmOf('foreign-store'));
      } catch (error) {
        log.error({ err: error }, 'no session was put under alarm: the store could not be read');
      }
    },
  };
}

/** Finds out who started a process. */
function createOriginLookup(store: CallersDeps['store'], dataDir: string) {
  const marks = createProcessMarks(dataDir);

  async function originOf(holders: Holders | null): Promise<Origin> {
    if (holders === null) return { kind: 'unknown', isHiding: false };
    const { visible, hidden, isOurs } = holders;
    for (const pid of visible) {
      const origin = await originOfProcess(pid);
      if (origin.kind !== 'person') return origin;
    }
    if (visible.length > 0) return { kind: 'person' };
    for (const pid of hidden) {
      const limit = await lockLimitOf(pid);
      if (limit !== null && (await marks.isMark(limit)))
        return { kind: 'stage', stageId: await stageOfMark(limit), pid };
    }
    return { kind: 'unknown', isHiding: isOurs && hidden.length === 0 };
  }

  /** By the mark of the process itself, which it cannot take off, and by the signs of those that started it, while they live. */
  async function originOfProcess(pid: number): Promise<Origin> {
    const limit = await lockLimitOf(pid);
    if (limit === null) return { kind: 'unknown', isHiding: false };
    let isMarked = await marks.isMark(limit);
    const stageId = isMarked ? await stageOfMark(limit) : null;
    if (stageId !== null) return { kind: 'stage', stageId, pid };
    let ancestor = await readRow(pid);
    for (let count = 0; ancestor !== null && ancestor.pid > 1 && count < MAX_ANCESTORS; count++) {
      const sign = await signOf(ancestor.pid);
      if (sign !== null) return { ...sign, pid };
      const above = await lockLimitOf(ancestor.pid);
      isMarked ||= above !== null && (await marks.isMark(above));
      ancestor = await readRow(ancestor.parent);
    }
    return isMarked ? { kind: 'stage', stageId: null, pid } : { kind: 'person' };
  }

  async function stageOfMark(limit: bigint): Promise<StageId | null> {
    const value = String(limit);
    for (const { id } of await store.read.stages.list()) if ((await marks.of(id)) === value) return id;
    return null;
  }

  /** What the variables say that Callboard gives to what it starts. Another Callboard's do not count. */
  async function signOf(pid: number): Promise<{ kind: 'stage'; stageId: StageId } | { kind: 'git' } | null> {
    const variables = (await environmentOf(pid)) ?? [];
    const variableOf = (name: string) => variables.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    const launchId = LaunchId.safeParse(variableOf(LAUNCH_MARKER));
    const launch = launchId.success ? await store.read.launches.find(launchId.data) : null;
    if (launch !== null) return { kind: 'stage', stageId: launch.stageId };
    const commandId = variableOf(COMMAND_MARKER);
    const command = commandId === undefined ? null : await store.read.worktreeCommands.find(commandId);
    if (command !== null) return { kind: 'stage', stageId: command.stageId };
    return variableOf(GIT_MARKER) === String(process.pid) ? { kind: 'git' } : null;
  }

  return originOf;
}

const MAX_COMMAND_LENGTH = 200;
const shortened = (command: string): string =>
  command.length > MAX_COMMAND_LENGTH ? `${command.slice(0, MAX_COMMAND_LENGTH)} …` : command;

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
