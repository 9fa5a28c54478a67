import {
  type CommandInput,
  type CommandReply,
  isActive,
  type LeftProcess,
  type Project,
  type ProjectId,
  type Removal,
  type Stage,
  type StageId,
  type StageView,
  type Worktree,
} from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { Sessions } from '../../core/launch/sessions.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { addNotice } from '../../core/session/session-change.ts';
import { requireCompletable, type Stages } from '../../core/session/stages.ts';
import type { SetUp } from '../../core/shell/worktree-setup.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import { requireProject, requireStage, type Store, type Tx } from '../../store/store.ts';
import type { Trash } from '../trash/trash.ts';
import type { StageImports } from './import-stages.ts';
import type { StageExports } from './stage-file.ts';

export interface StageDeps {
  store: Store;
  views: BoardViews;
  stages: Stages;
  removal: StageRemoval;
  repair: WorktreeRepair;
  sessions: Sessions;
  checks: { stopOf(stageId: StageId, by: string): Promise<boolean> };
  setUp: Pick<SetUp, 'skip'>;
  imports: StageImports;
  exports: StageExports;
  projects: { watchFolder(projectId: ProjectId, path: string): Promise<void> };
}

type StageCommands =
  | 'create_stage'
  | 'get_stage'
  | 'get_attachment'
  | 'update_stage'
  | 'get_removal'
  | 'remove_stage'
  | 'start_stage'
  | 'advance_stage'
  | 'stop_stage'
  | 'reopen_stage'
  | 'remake_worktree'
  | 'take_branch'
  | 'go_back_to_branch'
  | 'import_stages'
  | 'export_stages';

export function stageCommands(deps: StageDeps): Pick<CommandHandlers, StageCommands> {
  const { store, views, projects, stages, removal, repair, sessions, setUp, checks, imports, exports } = deps;
  const card = async (stageId: StageId): Promise<{ stage: StageView }> => ({ stage: await views.stage(stageId) });
  /** Stops a check and the process, as far as there are any. Returns whether there was either. */
  const stop = async (stageId: StageId, actor: string): Promise<boolean> => {
    await requireStage(store.read, stageId);
    const wasChecking = (await store.read.sessions.find(stageId)) !== null && (await checks.stopOf(stageId, actor));
    const hasProcess = (await store.read.sessions.find(stageId))?.launchId != null;
    if (hasProcess) await sessions.stop(stageId, `Stopped by ${actor}.`);
    return wasChecking || hasProcess;
  };
  return {
    create_stage: async ({ creationId, ...stage }) => card((await stages.create(stage, { creationId })).id),
    get_stage: ({ stageId }) => card(stageId),
    get_attachment: async ({ stageId, fileId }) => ({ file: await stages.attachment(stageId, fileId) }),
    update_stage: async ({ stageId, patch }, { actor }) => {
      await stages.update(stageId, patch, actor.name);
      return card(stageId);
    },
    get_removal: async ({ stageId }) => ({ removal: await removal.plan(stageId) }),
    remove_stage: async (input, { actor }) => {
      if (input.endSession === true) await stop(input.stageId, actor.name);
      return removal.remove(input, actor.name);
    },
    start_stage: async ({ stageId, withoutSetup = false, withoutFetch = false }, { actor }) => {
      if (withoutSetup) await setUp.skip(stageId);
      await sessions.start(stageId, actor.name, { withoutFetch });
      return card(stageId);
    },
    advance_stage: async ({ stageId }, { actor }) => {
      await requireStage(store.read, stageId);
      await sessions.advance(stageId, actor.name);
      return card(stageId);
    },
    stop_stage: async ({ stageId }, { actor }) => {
      if (!(await stop(stageId, actor.name))) await sessions.stop(stageId, `Stopped by ${actor.name}.`);
      return card(stageId);
    },
    reopen_stage: async ({ stageId }, { actor }) => {
      await stages.reopen(stageId, actor.name);
      return card(stageId);
    },
    remake_worktree: async ({ stageId }, { actor }) => {
      await repair.remake(stageId, actor.name);
      return card(stageId);
    },
    take_branch: async ({ stageId, ...seen }, { actor }) => {
      await repair.takeBranch(stageId, seen, actor.name);
      return card(stageId);
    },
    go_back_to_branch: async ({ stageId, ...seen }, { actor }) => {
      await repair.rewind(stageId, seen, actor.name);
      return card(stageId);
    },
    import_stages: async ({ projectId, path, watch = false }) => {
      const { ids, ...done } = await imports.run(projectId, path);
      if (watch) await projects.watchFolder(projectId, path);
      const cards = new Map((await views.board()).stages.map((stage) => [stage.id, stage]));
      return { stages: ids.flatMap((id) => cards.get(id) ?? []), ...done };
    },
    export_stages: ({ projectId, path }) => exports.run(projectId, path),
  };
}

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

/** Removes stages from the board together with their worktrees. */
export interface StageRemoval {
  /** Returns what `remove` would do to the stage's worktree now. @throws Rejection `unknown_stage` */
  plan(stageId: StageId): Promise<Removal>;
  /** Removes the worktree, then the stage. @throws Rejection as `Stages.remove` and `Worktrees.remove` do */
  remove(input: CommandInput<'remove_stage'>, by: string): Promise<CommandReply<'remove_stage'>>;
}

export interface StageRemovalDeps {
  store: Store;
  stages: Stages;
  worktrees: Worktrees;
  trash: Pick<Trash, 'save'>;
  /** As `LeftoverProcesses`. */
  leftovers: Record<'list' | 'endMarkedOf', (stageId: StageId) => Promise<LeftProcess[]>>;
  /** Ends what runs in the worktree, and cleans it up. */
  cleanUp: (stageId: StageId) => Promise<void>;
}

const NO_WORKTREE: Removal = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
  loose: null,
};

export function createStageRemoval({
  store,
  stages,
  worktrees,
  trash,
  leftovers,
  cleanUp,
}: StageRemovalDeps): StageRemoval {
  return {
    async plan(stageId) {
      const stage = await requireStage(store.read, stageId);
      const project = await store.read.projects.find(stage.projectId);
      const running = await leftovers.list(stageId);
      if (stage.worktree === null || project === null) return { ...NO_WORKTREE, running };
      return { ...(await worktrees.planRemoval(project, stage.worktree, stageId)), running };
    },

    /** The worktree goes first: after an interruption the stage still exists, and removing it can be repeated. */
    async remove({ stageId, buildFolders = 'keep' }, by) {
      const stage = await stages.requireRemovable(stageId);
      const project = await store.read.projects.find(stage.projectId);
      const { worktree } = stage;
      await cleanUp(stageId);
      // Before the stage is gone: afterwards nobody knows whose they are.
      const running = await leftovers.endMarkedOf(stageId);
      const mayBegin = async () => void (await stages.requireRemovable(stageId));
      const removed =
        worktree === null || project === null
          ? { left: null, kept: null, deleted: [] }
          : await worktrees.remove(project, worktree, {
              buildFolders,
              mayBegin,
              stageId,
              save: (files, commits) => trash.save(worktree.path, files, { project, stage, by }, commits),
            });
      if (project !== null) await worktrees.dropTurns(project, stageId);
      const gone = await stages.remove(stageId);
      // A turn that was being kept meanwhile. The stage is gone, whether or not its ref can be removed.
      if (project !== null) await worktrees.dropTurns(project, stageId).catch(() => undefined);
      return { stage: gone, ...removed, running };
    },
  };
}
