import type { LeftProcess, StageId } from '@callboard/contract';
import { type ProcessIdentity, selfIdentity } from '@callboard/runtime/process-identity';
import { terminate } from '../../claude/processes/end-processes.ts';
import { findLeftovers } from '../../claude/processes/find-leftovers.ts';
import { findMarkedProcesses } from '../../claude/processes/marked-processes.ts';
import { describeProcess, type ProcessRow } from '../../claude/processes/process-table.ts';
import { watchShells } from '../../claude/processes/shell-watch.ts';
import { changeSession } from '../../domain/change-session.ts';
import { addEntry } from '../../domain/session-change.ts';
import { Rejection, systemCode } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { LaunchRecord } from '../../store/records.ts';
import { requireStage } from '../../store/require.ts';
import type { Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { retryUntilStored } from '../retry-until-stored.ts';

/** Processes that outlive their session and have dropped its marker: Callboard lists them, and only a person ends them. */
export interface LeftoverProcesses {
  /** Those of a stage that run now, the oldest first. @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<LeftProcess[]>;
  /**
   * Ends these, by SIGTERM and after the grace by SIGKILL. Returns what still runs.
   * @throws Rejection `unknown_stage`; `unknown_process` where one of them is not on the list, and then none is ended
   */
  end(stageId: StageId, pids: readonly number[], actor: string): Promise<LeftProcess[]>;
}

export function createLeftoverProcesses({ store, graceMs }: { store: Store; graceMs: number }): LeftoverProcesses {
  async function find(stageId: StageId): Promise<ProcessRow[]> {
    await requireStage(store.read, stageId);
    return findOf(store, stageId);
  }

  return {
    list: async (stageId) => describe(await find(stageId)),
    async end(stageId, pids, actor) {
      const rows = await find(stageId);
      const unknown = pids.find((pid) => !rows.some((row) => row.pid === pid));
      if (unknown !== undefined) {
        const message = `Process ${unknown} is not on the list of what ${stageId} left running; it may have ended. Nothing was ended. Load the list again.`;
        throw new Rejection('unknown_process', message);
      }
      const { bootId } = await selfIdentity();
      const chosen = rows.filter(({ pid }) => pids.includes(pid));
      const ended = await Promise.all(chosen.map(({ pid, startTime }) => endOne({ pid, startTime, bootId }, graceMs)));
      const left = await find(stageId);
      const count = ended.filter(Boolean).length;
      const text = `${actor} ended ${processes(count)} that outlived the session.`;
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => {
          change.record = { ...change.record, leftovers: left.length };
          const notice = { kind: 'notice', parentToolUseId: null, level: 'info', code: 'leftovers-ended' } as const;
          if (count > 0) addEntry(change, tx.now, { ...notice, text });
        }),
      );
      return describe(left);
    },
  };
}

/** False: it still runs; another account's may not be ended. */
async function endOne(identity: ProcessIdentity, graceMs: number): Promise<boolean> {
  try {
    return await terminate(identity, graceMs);
  } catch (error) {
    if (systemCode(error) === 'EPERM') return false;
    throw error;
  }
}

const processes = (count: number) => (count === 1 ? '1 process' : `${count} processes`);

const COMMAND_SHOWN = 300;

async function describe(rows: readonly ProcessRow[]): Promise<LeftProcess[]> {
  const described = await Promise.all(
    rows.map(async (row) => {
      const told = await describeProcess(row);
      if (told === null) return null;
      const isLong = told.command.length > COMMAND_SHOWN;
      const command = isLong ? `${told.command.slice(0, COMMAND_SHOWN)}...` : told.command;
      return { pid: row.pid, command, startedAt: told.at.toISOString() };
    }),
  );
  return described.filter((one) => one !== null).toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

/** What the stage's ended launches have left, as far as it lives; what carries the marker of a launch that goes on is not meant. */
async function findOf(store: Store, stageId: StageId): Promise<ProcessRow[]> {
  const launches = (await store.read.launches.listOf(stageId)).filter(({ state }) => state === 'ended');
  const known = launches.flatMap(({ leftovers }) => leftovers);
  if (known.length === 0) return [];
  return findLeftovers({ known, shells: new Map(), conversationId: null, place: null, except: await ofOthers(store) });
}

async function ofOthers(store: Store): Promise<Set<number>> {
  const [marked, living] = await Promise.all([findMarkedProcesses(), store.read.launches.listNotEnded()]);
  return new Set(living.flatMap(({ id, process }) => [...(marked.get(id) ?? []), ...(process ? [process.pid] : [])]));
}

export interface LeftoverWatchParts {
  store: Store;
  log: Logger;
  executor: Pick<SessionExecutor, 'launch' | 'process' | 'lastHeard' | 'onHeard'>;
}

/** Follows a living launch, off its turns' path, so that what it leaves is known when it has ended. */
export interface LeftoverWatch {
  stop(): Promise<void>;
  /** Keeps and tells what still runs; for when the process has ended, and what carried its marker too. */
  settle(conversationId: string | null, signal: AbortSignal): Promise<void>;
}

/** So long after it was last heard, a process is taken to start nothing just now: in a turn, and after it. */
const ACTIVE_MS = 60_000;
const ACTIVE_AFTER_TURN_MS = 2_000;

export const mayStartSomething = ({ silentMs, isTurnOver }: ReturnType<SessionExecutor['lastHeard']>): boolean =>
  silentMs < (isTurnOver ? ACTIVE_AFTER_TURN_MS : ACTIVE_MS);

export function watchLeftovers({ store, log, executor }: LeftoverWatchParts): LeftoverWatch {
  const { launch, process, lastHeard } = executor;
  const keep = (known: readonly ProcessIdentity[]) =>
    store.transact((tx) => tx.launches.setLeftovers(launch.id, known), { sync: 'later' });
  const watch = watchShells({
    process: process.identity,
    isActive: () => mayStartSomething(lastHeard()),
    known: launch.leftovers,
    onLeft: (known) => {
      // For a restart of ours; the end of the process stores it again.
      keep(known).catch((error: unknown) => log.warn({ err: error }, 'what a command left running was not stored'));
    },
  });
  const unlisten = executor.onHeard(watch.wake);
  const stop = () => {
    unlisten();
    return watch.stop();
  };
  return {
    stop,
    async settle(conversationId, signal) {
      await stop();
      const { known, shells } = watch;
      const worktree = (await store.read.stages.find(launch.stageId))?.worktree?.path;
      const place = worktree === undefined ? null : { worktree, since: process.identity.startTime };
      const signs = { known, shells, conversationId, place };
      const found = await findLeftovers({ ...signs, except: await ofOthers(store) });
      if (found.length === 0 && known.length === 0) return;
      const left = found.map(({ pid, startTime }) => ({ pid, startTime, bootId: process.identity.bootId }));
      await retryUntilStored({ store, log, signal }, (tx) => tx.launches.setLeftovers(launch.id, left));
      if (found.length > 0) await tell(store, log, launch, found, signal);
    },
  };
}

async function tell(
  store: Store,
  log: Logger,
  { id, stageId }: LaunchRecord,
  found: readonly ProcessRow[],
  signal: AbortSignal,
): Promise<void> {
  const all = await findOf(store, stageId);
  const text = `${processes(found.length)} that Claude's commands started still ${found.length === 1 ? 'runs' : 'run'} after the end of the session. You can end ${found.length === 1 ? 'it' : 'them'} on the stage page.`;
  await retryUntilStored({ store, log, signal }, (tx) =>
    changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, leftovers: Math.max(all.length, found.length) };
      addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'leftovers', text });
    }),
  );
  log.info({ launchId: id, pids: found.map(({ pid }) => pid) }, 'processes outlive their session');
}
