import {
  isActive,
  isChecking,
  resumeCommand,
  type SessionTerminal,
  type Stage,
  type StageId,
} from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { Sessions } from '../../core/launch/sessions.ts';
import { changeSession, openChange, saveChange } from '../../core/session/change-session.ts';
import { requireNoAlarm } from '../../core/session/requests.ts';
import {
  endedForTerminal,
  leaveToTerminal,
  requireNotRewinding,
  type SaidInTerminal,
  withdraw,
} from '../../core/session/rewind-rules.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { SessionRecord } from '../../store/records.ts';
import { requireProject, requireStage, type Store, type Tx } from '../../store/store.ts';

export interface TerminalsDeps {
  store: Store;
  log: Logger;
  sessions: Pick<Sessions, 'stop' | 'resumeWith'>;
  /** Throws unless the worktree stands where it was made. @throws OperationalError `worktree_replaced` */
  requireInPlace: Worktrees['requireInPlace'];
  /** Returns a process of somebody else that may write the conversation; null if none was found. */
  findProcess: (of: { conversationId: string; folder: string }) => Promise<number | null>;
  /** Returns what was said in a conversation after a moment; null if it has no record. */
  saidAfter: (conversationId: string, after: string) => Promise<SaidInTerminal | null>;
}

export interface TerminalOrder {
  actor: string;
  /** Ends a running turn, with its open requests. */
  endTurn?: boolean | undefined;
}

/** Conversations that people continue in a terminal: while one is there, Callboard starts no process for it. */
export interface Terminals {
  /**
   * Marks the session, then ends its process in order. Resolves when the process has ended. Repeated, it ends a process that is
   * still there, and the first mark stays.
   * @throws Rejection `unknown_stage`, `no_session`, `no_worktree`, `already_done`, `session_alarm`, `already_running` while a check
   *   runs, `stage_running` while a turn runs that is not to be ended; OperationalError `worktree_replaced`
   */
  leave(stageId: StageId, order: TerminalOrder): Promise<{ command: string; terminal: SessionTerminal }>;
  /**
   * Takes the conversation back, with what was said in the terminal, and resumes the session for the first message that waits.
   * @throws Rejection `no_session`, `not_in_terminal`; `in_terminal` while Claude Code still runs there, or its own process
   *   is still being ended
   */
  withdraw(stageId: StageId): Promise<'taken-back' | 'resumed'>;
  /** As `withdraw`, for a message; does nothing if there is nothing to take back, or if it cannot be yet. */
  withdrawIfGone(stageId: StageId): Promise<void>;
}

export function createTerminals(deps: TerminalsDeps): Terminals {
  const { store, sessions } = deps;

  async function withdrawNow(stageId: StageId): Promise<'taken-back' | 'resumed'> {
    const record = await requireMarked(store, stageId);
    await requireUnoccupied(deps, record);
    const said = await saidSince(deps, record);
    return store.transact(async (tx) => {
      const change = await openChange(tx, stageId);
      if (change.record.terminal?.since !== record.terminal.since) return 'taken-back'; // somebody was first
      withdraw(change, tx.now, said);
      const { queueHeld, alarm } = await saveChange(tx, change);
      if (queueHeld || alarm !== null) return 'taken-back';
      const [row] = await tx.outbox.queueOf(stageId);
      return row !== undefined && (await sessions.resumeWith(tx, stageId, row)) ? 'resumed' : 'taken-back';
    });
  }

  return {
    async leave(stageId, { actor, endTurn = false }) {
      await requireConversation(deps, stageId);
      const terminal = await store.transact((tx) => mark(tx, stageId, actor, endTurn));
      await end(deps, stageId, terminal);
      // Read when the process has ended: a `/clear` in its last turn has begun another conversation.
      const stage = await requireStage(store.read, stageId);
      const { conversationId, folder } = locationOf(stage, await requireMarked(store, stageId));
      return { command: resumeCommand(folder, conversationId), terminal };
    },
    withdraw: withdrawNow,
    async withdrawIfGone(stageId) {
      if ((await store.read.sessions.find(stageId))?.terminal == null) return;
      await withdrawNow(stageId).catch((error: unknown) => {
        // The message waits, and whoever wrote it sees why.
        if (!(error instanceof Rejection)) throw error;
      });
    },
  };
}

/** The command would begin in whatever stands there. */
async function requireConversation({ store, requireInPlace }: TerminalsDeps, stageId: StageId): Promise<void> {
  const { worktree, projectId } = await requireStage(store.read, stageId);
  if (worktree !== null) requireInPlace(await requireProject(store.read, projectId), worktree);
}

async function mark(tx: Tx, stageId: StageId, actor: string, endTurn: boolean): Promise<SessionTerminal> {
  const stage = await requireStage(tx, stageId);
  const { record } = await openChange(tx, stageId);
  if (record.terminal !== null) return record.terminal;
  requireNoAlarm(record);
  requireNotRewinding(record);
  if (stage.completedAt !== null) throw new Rejection('already_done', `${stageId} is done. Reopen it first.`);
  locationOf(stage, record);
  await requireLeavable(tx, record, endTurn);
  const terminal = { since: tx.now, by: actor };
  await changeSession(tx, stageId, (change) => leaveToTerminal(change, terminal));
  return terminal;
}

/** Where a terminal finds the conversation. @throws Rejection `no_worktree`, `no_session` */
function locationOf({ id, worktree }: Pick<Stage, 'id' | 'worktree'>, record: SessionRecord | null) {
  if (worktree === null)
    throw new Rejection('no_worktree', `${id} has no worktree yet. Start the stage to create one.`);
  if (record?.sessionId == null)
    throw new Rejection('no_session', `Claude has not begun a conversation in ${id} yet. Start the stage first.`);
  return { conversationId: record.sessionId, folder: worktree.path };
}

async function requireLeavable(tx: Tx, record: SessionRecord, endTurn: boolean): Promise<void> {
  const { stageId, state } = record;
  if (isChecking(record)) {
    const message = `A check or a review of ${stageId} is running. Stop it, or wait for its result.`;
    throw new Rejection('already_running', message);
  }
  if (state === 'starting') throw new Rejection('stage_running', `${stageId} is starting. Try again in a moment.`);
  if (!isActive(state) || endTurn) return;
  const open = await tx.requests.countOpenOf(stageId);
  const asks = open === 0 ? '' : `, and ${open === 1 ? 'a request waits' : `${open} requests wait`} for an answer`;
  const message = `A turn of ${stageId} is running${asks}. Wait until it has ended, or end it to continue in a terminal.`;
  throw new Rejection('stage_running', message);
}

/** Ends the process, if there is one. */
async function end({ store, sessions }: TerminalsDeps, stageId: StageId, terminal: SessionTerminal): Promise<void> {
  const hasProcess = async () => (await store.read.sessions.find(stageId))?.launchId != null;
  if (!(await hasProcess())) return;
  try {
    await sessions.stop(stageId, endedForTerminal(terminal));
  } catch (error) {
    if (!(error instanceof Rejection) || (await hasProcess())) throw error; // otherwise it has ended meanwhile
  }
}

async function requireMarked(store: Store, stageId: StageId) {
  await requireStage(store.read, stageId);
  const record = await store.read.sessions.find(stageId);
  if (record !== null && record.terminal !== null) return { ...record, terminal: record.terminal };
  throw new Rejection('not_in_terminal', `${stageId} is not in a terminal. Someone may have taken it back already.`);
}

async function requireUnoccupied({ store, findProcess }: TerminalsDeps, record: SessionRecord): Promise<void> {
  const { stageId, launchId } = record;
  if (launchId !== null)
    throw new Rejection('in_terminal', `The process of ${stageId} is still being ended. Try again in a moment.`);
  const pid = await findProcess(locationOf(await requireStage(store.read, stageId), record));
  if (pid === null) return;
  const message = `Claude Code still runs in the terminal of ${stageId} (process ${pid}). Exit it there, then take the stage back.`;
  throw new Rejection('in_terminal', message);
}

async function saidSince(
  { store, saidAfter, log }: TerminalsDeps,
  { stageId, sessionId, terminal }: SessionRecord & { terminal: SessionTerminal },
): Promise<SaidInTerminal | null> {
  if (sessionId === null) return null;
  // Until its process had ended, the session itself wrote the conversation, and its words are in the transcript.
  const endedAt = (await store.read.launches.listOf(stageId)).at(-1)?.endedAt ?? '';
  try {
    return await saidAfter(sessionId, [endedAt, terminal.since].toSorted()[1] ?? terminal.since);
  } catch (error) {
    log.warn({ err: error, stageId }, 'reading what was said in a terminal failed');
    return null;
  }
}

type TerminalCommands = 'continue_in_terminal' | 'take_back';

export const terminalCommands = ({ terminals }: { terminals: Terminals }): Pick<CommandHandlers, TerminalCommands> => ({
  continue_in_terminal: ({ stageId, endTurn }, { actor }) => terminals.leave(stageId, { actor: actor.name, endTurn }),
  take_back: async ({ stageId }) => ({ status: await terminals.withdraw(stageId) }),
});
