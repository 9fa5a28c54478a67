import { isActive, type Project, type Stage, type StageId, type Worktree } from '@callboard/contract';
import { changeSession } from '../domain/change-session.ts';
import { addNotice } from '../domain/session-change.ts';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Trash } from '../trash/trash.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { requireCompletable } from './stages.ts';

export interface WorktreeRepairDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  worktrees: Pick<Worktrees, 'remake' | 'takeBranch' | 'rewind'>;
  trash: Pick<Trash, 'save'>;
  /** Ends the stage's process if it is idle. Returns false if it got work at the same moment. */
  sessions: { endIfIdle(stageId: StageId, reason: string): Promise<boolean> };
  /** Ends what runs in the worktree. */
  worktreeCommands: { endAllOf(stageId: StageId, reason: string): Promise<void> };
}

/** Puts right what happened to the worktree of a stage outside Callboard: its folder, and the branch that it is on. */
export interface WorktreeRepair {
  /**
   * Puts the worktree back into its place if something else stands there, or nothing: see `Worktrees.remake`. Ends an idle process,
   * which works in a folder that is not the worktree. @throws Rejection `no_worktree`, `stage_running`; OperationalError `worktree_failed`
   */
  remake(stageId: StageId, actor: string): Promise<void>;
  /** Makes the branch that the worktree is on the stage's branch. @throws Rejection as `Worktrees.takeBranch`; `stage_running` */
  takeBranch(stageId: StageId, seen: Seen, actor: string): Promise<void>;
  /** Sets the worktree back to the stage's branch. What no branch has goes to the trash. @throws as `takeBranch` */
  rewind(stageId: StageId, seen: Seen, actor: string): Promise<void>;
}

interface Seen {
  head?: string | undefined;
}

interface Found {
  stage: Stage;
  project: Project;
  worktree: Worktree;
}

/** In place of the refusal. */
const REPAIRED = {
  code: null,
  message: 'Claude was not started: its worktree was not in its place. It is there again.',
};

export function createWorktreeRepair(deps: WorktreeRepairDeps): WorktreeRepair {
  const { platform, worktrees, trash, worktreeCommands } = deps;
  /** A worktree is mended once at a time. */
  const byStage = createKeyedMutex();

  return {
    remake: (stageId, actor) =>
      byStage(stageId, async () => {
        const { stage, project, worktree: recorded } = await find(deps, stageId);
        await requireEnded(deps, stageId);
        await worktreeCommands.endAllOf(stageId, 'Its worktree was made again.');
        const texts: string[] = [];
        const origin = { project, stage, by: actor };
        const { worktree, told, isNew } = await worktrees.remake(project, stageId, {
          recorded,
          notify: (text) => texts.push(text),
          save: (folder, files, commits) => trash.save(folder, files, origin, commits),
        });
        const setup = (before: Stage['setup']) => (isNew && before === 'done' ? 'due' : before);
        if (told !== null) texts.unshift(`${actor} had the worktree made again. ${told}`);
        await save(deps, stageId, (found) => ({ worktree, setup: setup(found.setup) }), texts);
      }),

    takeBranch: (stageId, seen, actor) =>
      byStage(stageId, async () => {
        const { project, worktree } = await find(deps, stageId);
        await requireNoWork(deps, stageId);
        const branch = await worktrees.takeBranch(project, worktree, seen);
        const text =
          branch === worktree.branch
            ? `${actor} took the commits that the worktree was at onto ${branch}.`
            : `${actor} took ${branch} as the stage's branch. It was ${worktree.branch} before.`;
        await save(deps, stageId, (found) => ({ worktree: { ...(found.worktree ?? worktree), branch } }), [text]);
      }),

    rewind: (stageId, seen, actor) =>
      byStage(stageId, async () => {
        const { stage, project, worktree } = await find(deps, stageId);
        await requireNoWork(deps, stageId);
        const at = platform.now().toISOString().replaceAll(/[:.]/g, '-');
        const ref = `refs/callboard/trash/${stageId.replaceAll(/[^A-Za-z0-9_-]/g, '-')}/${at}`;
        const message = `Work of ${stageId} (${stage.title}), kept when its worktree went back to ${worktree.branch}`;
        const { kept, from } = await worktrees.rewind(project, worktree, { ...seen, save: { ref, message } });
        if (kept !== null) {
          const { commit, unmerged, uncommitted, earlier } = kept;
          const work = { ref, commit, repository: project.path, branch: from.branch, unmerged, uncommitted, earlier };
          await trash.save(worktree.path, [], { project, stage, by: actor }, work);
        }
        const rest = kept === null ? '' : ' What no branch has is in the trash.';
        const where = from.branch === null ? from.head.slice(0, 7) : from.branch;
        await save(deps, stageId, () => ({}), [`${actor} went back from ${where} to ${worktree.branch}.${rest}`]);
      }),
  };
}

async function find({ store }: WorktreeRepairDeps, stageId: StageId): Promise<Found> {
  const stage = await requireStage(store.read, stageId);
  const project = await requireProject(store.read, stage.projectId);
  const { worktree } = stage;
  if (worktree !== null) return { stage, project, worktree };
  throw new Rejection('no_worktree', `${stageId} has no worktree yet. Start the stage to create one.`);
}

async function requireNoWork({ store }: WorktreeRepairDeps, stageId: StageId): Promise<void> {
  const session = await store.read.sessions.find(stageId);
  if (session === null || !isActive(session.state)) return;
  throw new Rejection(
    'stage_running',
    `Claude is working in ${stageId}. Wait until it is idle, or interrupt it first.`,
  );
}

async function requireEnded(deps: WorktreeRepairDeps, stageId: StageId): Promise<void> {
  const { store, sessions } = deps;
  await requireNoWork(deps, stageId);
  if ((await store.read.sessions.find(stageId))?.state === 'idle')
    if (!(await sessions.endIfIdle(stageId, 'Ended because its worktree was made again.')))
      throw new Rejection('stage_running', `${stageId} got work at the same moment. Wait until it is idle.`);
  await requireCompletable(store.read, await requireStage(store.read, stageId));
}

/** Stores the worktree, and what was done in the transcript. */
async function save(
  { store }: WorktreeRepairDeps,
  stageId: StageId,
  fields: (stage: Stage) => Partial<Stage>,
  texts: readonly string[],
): Promise<void> {
  await store.transact(async (tx) => {
    const found = await requireStage(tx, stageId);
    const stage = { ...found, ...fields(found), updatedAt: tx.now };
    await tx.stages.update(stage);
    await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
    await notify(tx, stageId, texts);
  });
}

async function notify(tx: Tx, stageId: StageId, texts: readonly string[]): Promise<void> {
  if (texts.length === 0 || (await tx.sessions.find(stageId)) === null) return;
  await changeSession(tx, stageId, (change) => {
    const { lastTurn } = change.record;
    if (lastTurn?.code === 'worktree-replaced')
      change.record = { ...change.record, lastTurn: { ...lastTurn, ...REPAIRED } };
    for (const text of texts) addNotice(change, tx.now, { level: 'info', code: 'worktree', text });
  });
}
