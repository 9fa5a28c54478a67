import {
  type CommandReply,
  type ForkBody,
  isActive,
  isChecking,
  isMidTurn,
  PLANNED_FILES,
  pickStageFields,
  type RewindBody,
  type RewindPlan,
  type SessionSummary,
  type Stage,
  type StageFork,
  type StageId,
  type Worktree,
  type WorktreeOrigin,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { requireNoAwaitedTasks } from '../../core/session/background-tasks.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession, openChange, saveChange } from '../../core/session/change-session.ts';
import { newSession } from '../../core/session/new-session.ts';
import { requireNoAlarm } from '../../core/session/requests.ts';
import {
  abandon,
  begin,
  finish,
  noteFork,
  requireNotInTerminal,
  requireNotRewinding,
} from '../../core/session/rewind-rules.ts';
import { addNotice, type SessionChange } from '../../core/session/session-change.ts';
import type { Stages } from '../../core/session/stages.ts';
import type { RestorePlan, Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import { type Rewinding, type SessionRecord, summaryOf } from '../../store/records.ts';
import type { Store, Tables, Tx } from '../../store/store.ts';
import {
  FORKING,
  findMoment,
  type Location,
  type Moment,
  type MomentDeps,
  REWINDING,
  requireConversation,
} from './find-moment.ts';

export interface RewindCommandDeps {
  rewinds: Rewinds;
  forkStage: ForkStage;
  views: BoardViews;
}

type RewindCommands = 'rewind_session' | 'undo_rewind' | 'fork_stage';

export function rewindCommands({
  rewinds,
  forkStage,
  views,
}: RewindCommandDeps): Pick<CommandHandlers, RewindCommands> {
  return {
    rewind_session: ({ stageId, ...body }, { actor }) => rewinds.rewind(stageId, body, actor.name),
    undo_rewind: async ({ stageId }, { actor }) => ({ session: await rewinds.undo(stageId, actor.name) }),
    fork_stage: async ({ stageId, ...body }) => {
      const { id } = await forkStage(stageId, body);
      return { stage: await views.stage(id) };
    },
  };
}

export interface ForkDeps extends MomentDeps {
  worktrees: Pick<Worktrees, 'snapshotTurn' | 'pinTurn' | 'requireCommit'>;
  stages: Pick<Stages, 'create'>;
}

/** Makes stages that continue another one from an earlier moment, on a branch of their own. */
export type ForkStage = (stageId: StageId, body: ForkBody) => Promise<Stage>;

/** The conversation and the files that a fork begins with. */
interface Start extends Pick<StageFork, 'conversationId' | 'until'> {
  commit: string;
  files: string;
}

/**
 * Returns a stage with the conversation and the files from before a message, and that message as its prompt, not started yet; without
 * a message, one with all that was said and the present files, which goes on with its next message. The original is not touched.
 * One that was made with the same `creationId` is returned as it is now.
 * @throws Rejection `unknown_stage`, `no_session`, `unknown_message`; `stage_running` in the middle of a turn and `in_terminal`, both
 *   without a message; `cannot_go_back` if conversation or files of that moment are not known
 */
export const createForkStage =
  (deps: ForkDeps): ForkStage =>
  async (stageId, { messageId, title, creationId }) => {
    const { store, worktrees, stages } = deps;
    const earlier = creationId === undefined ? null : await store.read.stages.findCreated(creationId);
    if (earlier !== null) return earlier;
    const place = await requireConversation(store, stageId);
    const { stage } = place;
    const moment = messageId === undefined ? null : await findMoment(deps, place, { messageId, text: FORKING });
    const row = messageId === undefined ? null : await store.read.outbox.findMessage(stageId, messageId);
    const { commit, files, ...conversation } = await (moment === null
      ? present(deps, place)
      : startOf(deps, place, moment));
    const fork: StageFork = { ...conversation, stageId, title: stage.title, messageId: messageId ?? null };
    const origin: WorktreeOrigin = { commit, tree: files, ref: null, isTaken: false };
    const made = await stages.create(
      {
        projectId: stage.projectId,
        ...pickStageFields(stage, 'inFork'),
        pipeline: [],
        title: title ?? `${stage.title} (fork)`,
        prompt: moment?.message.text ?? stage.prompt,
        promptIsCommand: row?.body.isCommand ?? false,
        attachments: row?.body.attachments ?? [],
      },
      {
        creationId,
        fields: async () => ({ fork, origin }),
        ...(moment === null && { also: beginSession }),
      },
    );
    await worktrees.pinTurn(place.project, made.id, 'fork', files); // a start of Callboard repeats it
    return made;
  };

async function startOf(
  { worktrees }: ForkDeps,
  { worktree }: Location,
  { files, conversation }: Moment,
): Promise<Start> {
  if (typeof conversation === 'string') throw new Rejection('cannot_go_back', conversation);
  if (typeof files === 'string') throw new Rejection('cannot_go_back', files);
  const commit = await worktrees.requireCommit(worktree, files.head);
  const { at, id } = conversation;
  return { conversationId: at === null ? null : id, until: at, commit, files: files.target };
}

async function present({ worktrees }: ForkDeps, { stage, worktree, session }: Location): Promise<Start> {
  requireNotInTerminal(session);
  if (isMidTurn(session.state) || session.turnRunning) {
    const text = `Claude is working on ${stage.id}. Stop it first, or fork from one of its messages.`;
    throw new Rejection('stage_running', text);
  }
  const { commit: files } = await worktrees.snapshotTurn(worktree, { stageId: stage.id, name: 'fork' });
  const { sessionId, forkOf } = session;
  const conversation =
    sessionId === null
      ? { conversationId: forkOf?.fork ?? null, until: forkOf?.until ?? null }
      : { conversationId: sessionId, until: null };
  return { ...conversation, commit: await worktrees.requireCommit(worktree, `${files}^1`), files };
}

/** A stage that goes on after all that was said has a session at once: its next message starts Claude. */
async function beginSession(tx: Tx, stage: Stage): Promise<void> {
  const record = newSession(stage, tx.now);
  const change: SessionChange = { before: record, record, entries: [], queueChanged: false, delivered: [] };
  noteFork(change, tx.now, stage);
  await tx.emit({ type: 'session-updated', data: summaryOf(await saveChange(tx, change)) });
}

export interface RewindsDeps extends MomentDeps, CarryOutDeps {
  worktrees: Pick<Worktrees, 'planRestore' | 'restore' | 'snapshotTurn' | 'pinTurn' | 'commitsSince'>;
  platform: Pick<Platform, 'newId'>;
  /** Ends the process of an idle session. False: it got work meanwhile. */
  endIfIdle: (stageId: StageId, reason: string) => Promise<boolean>;
}

/** Sets stages back to before an earlier message. What was is kept, and can be had again until the next message. */
export interface Rewinds {
  /**
   * Sets files, conversation or both back, after its process has ended; with `dryRun`, only tells what would change.
   * @throws Rejection `unknown_stage`, `no_session`, `unknown_message`, `session_alarm`, `in_terminal`, `already_done`; `stage_running` while Claude
   *   or a check works; `cannot_go_back` with the reason
   */
  rewind(stageId: StageId, body: RewindBody, actor: string): Promise<CommandReply<'rewind_session'>>;
  /** Undoes the newest going back. @throws as `rewind` */
  undo(stageId: StageId, actor: string): Promise<SessionSummary>;
  /** Completes what a crash interrupted. Does not reject if one stage fails. */
  settleInterrupted(): Promise<void>;
}

const ENDED = 'Ended to go back to an earlier message. A message resumes the session.';

export function createRewinds(deps: RewindsDeps): Rewinds {
  const exclusively = createKeyedMutex();
  return {
    rewind: (stageId, body, actor) => exclusively(stageId, () => rewind(deps, stageId, body, actor)),
    undo: (stageId, actor) => exclusively(stageId, () => undo(deps, stageId, actor)),
    settleInterrupted: async () => {
      await settleSessions(deps);
      await settleForks(deps);
    },
  };
}

async function rewind(
  deps: RewindsDeps,
  stageId: StageId,
  body: RewindBody,
  actor: string,
): Promise<CommandReply<'rewind_session'>> {
  const { store } = deps;
  const { messageId, dryRun = false } = body;
  await requireIdle(store.read, stageId);
  const wants = wantsOf(body);
  const place = await requireConversation(store, stageId);
  const moment = await findMoment(deps, place, { messageId, text: REWINDING });
  requireNotRewound(place.session, moment.message.index);
  const plan = await planOf(deps, place, moment);
  if (dryRun) return { plan, session: summaryOf(place.session) };
  const { files, conversation } = moment;
  if (wants.files && typeof files === 'string') throw new Rejection('cannot_go_back', files);
  if (wants.conversation && typeof conversation === 'string') throw new Rejection('cannot_go_back', conversation);
  await endProcess(deps, stageId);
  const id = deps.platform.newId();
  const kept = wants.files ? await retainPresent(deps, place, id) : null;
  await storeIntent(deps, stageId, ({ transcriptLength: to }, at) => ({
    kind: 'rewind',
    entry: { id, messageId, at, by: actor, from: moment.message.index, to, ...wants, canUndo: true },
    by: actor,
    files: kept === null || typeof files === 'string' ? null : { target: files.target, kept },
    conversation: !wants.conversation || typeof conversation === 'string' ? null : conversation.state,
    blocked: [],
  }));
  return { plan, session: await carryOut(deps, stageId) };
}

async function undo(deps: RewindsDeps, stageId: StageId, actor: string): Promise<SessionSummary> {
  const place = await requireConversation(deps.store, stageId);
  requireUndo(place.session);
  await endProcess(deps, stageId);
  const kept = place.session.undo?.files == null ? null : await retainPresent(deps, place, deps.platform.newId());
  await storeIntent(deps, stageId, (record) => {
    const { undo: before, entry } = requireUndo(record);
    const files = kept === null || before.files === null ? null : { target: before.files, kept };
    return { kind: 'undo', entry, by: actor, files, conversation: before.conversation, blocked: [] };
  });
  return carryOut(deps, stageId);
}

/** Ends the process, so that nothing changes the files or the conversation meanwhile. */
async function endProcess({ store, endIfIdle }: RewindsDeps, stageId: StageId): Promise<void> {
  const { launchId } = await requireIdle(store.read, stageId);
  if (launchId !== null && !(await endIfIdle(stageId, ENDED))) throw running(stageId);
}

const retainPresent = async ({ worktrees }: RewindsDeps, { stage, worktree }: Location, id: string): Promise<string> =>
  (await worktrees.snapshotTurn(worktree, { stageId: stage.id, name: `before-${id}` })).commit;

/** Stores what is about to happen; on disk when it resolves. */
const storeIntent = (
  { store }: RewindsDeps,
  stageId: StageId,
  make: (record: SessionRecord, now: string) => Rewinding,
): Promise<void> =>
  store.transact(
    async (tx) => {
      const { launchId } = await requireIdle(tx, stageId);
      if (launchId !== null) throw running(stageId);
      const change = await openChange(tx, stageId);
      begin(change, make(change.record, tx.now));
      await saveChange(tx, change);
    },
    { sync: 'now' },
  );

async function settleSessions(deps: RewindsDeps): Promise<void> {
  const { store, log } = deps;
  // A start does not wait for a store that cannot write.
  const record = <T>(work: (tx: Tx) => Promise<T>) => store.transact(work, { sync: 'now' });
  for (const { stageId, goingBack } of await store.read.sessions.list()) {
    if (goingBack === null) continue;
    log.info({ stageId }, 'completing an interrupted going back');
    await carryOut({ ...deps, record }, stageId).catch((error: unknown) =>
      log.warn({ err: error, stageId }, 'going back failed'),
    );
  }
}

/** Keeps the files of forks that were not started: a crash may have come before. */
async function settleForks({ store, worktrees, log }: RewindsDeps): Promise<void> {
  for (const { id, projectId, fork, origin } of await store.read.stages.list()) {
    if (fork === null || origin === null || origin.tree === null || origin.isTaken) continue;
    const project = await store.read.projects.find(projectId);
    if (project === null) continue;
    await worktrees
      .pinTurn(project, id, 'fork', origin.tree)
      .catch((error: unknown) => log.warn({ err: error, stageId: id }, 'keeping the files of a fork failed'));
  }
}

/** With neither, both; else what is left out stays. */
function wantsOf({ files, conversation }: RewindBody): { files: boolean; conversation: boolean } {
  const wants = { files: files ?? conversation !== true, conversation: conversation ?? files !== true };
  if (wants.files || wants.conversation) return wants;
  throw new Rejection('bad_request', 'Choose what to restore: files, conversation or both.');
}

function requireNotRewound({ goneBack }: SessionRecord, index: number): void {
  if (!goneBack.some(({ conversation, from, to }) => conversation && from <= index && index <= to)) return;
  const text = 'This message was taken back. Undo that first, or fork a stage from it.';
  throw new Rejection('cannot_go_back', text);
}

const running = (stageId: StageId): Rejection =>
  new Rejection('stage_running', `Claude is working on ${stageId}. Stop it first, then go back.`);

/** Returns the session if nothing works on the stage. */
async function requireIdle(tables: Tables, stageId: StageId): Promise<SessionRecord> {
  const record = await tables.sessions.find(stageId);
  const stage = await tables.stages.find(stageId);
  if (stage === null) throw new Rejection('unknown_stage', `There is no stage ${stageId}.`);
  if (record === null)
    throw new Rejection('no_session', `${stageId} has no session: it was never started. Start the stage first.`);
  requireNoAlarm(record);
  requireNotInTerminal(record);
  requireNotRewinding(record);
  if (isChecking(record))
    throw new Rejection('stage_running', `A check of ${stageId} is running. Stop it, or wait for its result.`);
  if (isActive(record.state)) throw running(stageId);
  requireNoAwaitedTasks(record, 'Nothing was restored, because work of');
  if (stage.completedAt !== null) throw new Rejection('already_done', `${stageId} is done. Reopen it first.`);
  return record;
}

function requireUndo({ stageId, undo, goneBack }: SessionRecord) {
  const entry = goneBack.at(-1);
  if (undo !== null && entry?.canUndo) return { undo, entry };
  const text = `There is nothing to undo in ${stageId}: nobody went back, or a message was sent since. To see how it was then, fork a stage from one of the messages that were taken back.`;
  throw new Rejection('cannot_go_back', text);
}

async function planOf(
  { store, worktrees }: RewindsDeps,
  { stage, worktree }: Location,
  { message, files, conversation }: Moment,
): Promise<RewindPlan> {
  const restore = typeof files === 'string' ? null : await worktrees.planRestore(worktree, files);
  return {
    files:
      restore === null || typeof files === 'string'
        ? null
        : {
            at: files.at,
            changes: restore.changes.slice(0, PLANNED_FILES).map(({ path, oldPath, status, additions, deletions }) => ({
              path,
              oldPath,
              status,
              additions,
              deletions,
            })),
            counts: {
              files: restore.changes.length,
              additions: restore.changes.reduce((sum, one) => sum + one.additions, 0),
              deletions: restore.changes.reduce((sum, one) => sum + one.deletions, 0),
            },
            blocked: restore.blocked,
            notKept: restore.notKept.slice(0, PLANNED_FILES),
            commits: await worktrees.commitsSince(worktree, files.head),
          },
    filesProblem: typeof files === 'string' ? files : null,
    conversation:
      typeof conversation === 'string'
        ? null
        : {
            messages: await store.read.transcript.countMessages(stage.id, message.index),
            isNew: conversation.at === null,
          },
    conversationProblem: typeof conversation === 'string' ? conversation : null,
    text: message.text,
  };
}

export interface CarryOutDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'restore'>;
  log: Logger;
  /** Stores what has happened; on disk when it resolves. */
  record: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
}

/**
 * Does what is stored of going back, and stores the result. Repeating it after a crash is harmless.
 * @throws Rejection `cannot_go_back` if the files could not be set
 */
async function carryOut(deps: CarryOutDeps, stageId: StageId): Promise<SessionSummary> {
  const { worktree, session } = await requireConversation(deps.store, stageId);
  const { goingBack } = session;
  if (goingBack === null) return summaryOf(session);
  const { files } = goingBack;
  const blocked = files === null ? [] : (await setFiles(deps, { stageId, worktree, files })).blocked;
  const done = { ...goingBack, blocked: blocked.map(({ path }) => path) };
  return summaryOf(await deps.record((tx) => changeSession(tx, stageId, (change) => finish(tx, change, done))));
}

interface SetFiles {
  stageId: StageId;
  worktree: Worktree;
  files: NonNullable<Rewinding['files']>;
}

/**
 * Sets the files; if that fails, sets them to what they were.
 * @throws Rejection `cannot_go_back`, after the failure is stored
 */
async function setFiles(
  { record, worktrees, log }: CarryOutDeps,
  { stageId, worktree, files }: SetFiles,
): Promise<RestorePlan> {
  try {
    return await worktrees.restore(worktree, files);
  } catch (error) {
    log.warn({ err: error, stageId }, 'setting the files back failed');
    const isAsBefore = await worktrees.restore(worktree, { target: files.kept }).then(
      () => true,
      () => false,
    );
    const state = isAsBefore
      ? 'The files are as they were before.'
      : `Some files may have been restored. The previous ones are kept as the commit ${files.kept}.`;
    const text = `Going back failed. ${state} Cause: ${messageOf(error)}`;
    await record((tx) =>
      changeSession(tx, stageId, (change) => {
        abandon(change);
        addNotice(change, tx.now, { level: 'error', code: 'going-back-failed', text });
      }),
    );
    throw new Rejection('cannot_go_back', text, { cause: error });
  }
}
