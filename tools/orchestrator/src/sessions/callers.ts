import { LaunchId, type Peer, type StageId } from '@callboard/contract';
import {
  type Hold,
  type Holders,
  holdersOfConnection,
  holdersOfFile,
  holdOfConnection,
  isHeld,
} from '../claude/processes/holders.ts';
import { COMMAND_MARKER, LAUNCH_MARKER } from '../claude/processes/marked-processes.ts';
import { describeProcess, environmentOf, readRow } from '../claude/processes/process-table.ts';
import { type Alarm, alarmOf } from '../domain/session-alarm.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createProcessMarks, GIT_MARKER, lockLimitOf } from '../lib/processes/process-mark.ts';
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
