import type { LeftOut, Project, Stage, StageId, Worktree, WorktreeOrigin } from '@callboard/contract';
import { changeSession } from '../../domain/change-session.ts';
import { addNotice, type Notice } from '../../domain/session-change.ts';
import { pathExists } from '../../lib/path-exists.ts';
import { requireStage } from '../../store/require.ts';
import type { Store } from '../../store/store.ts';
import type { LaunchTrust } from '../../trust/launch-trust.ts';
import type { Trust } from '../../trust/trust.ts';
import type { SetUp } from '../../worktree-commands/set-up.ts';
import type { PushedWork } from '../../worktrees/publishing.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';

/** Where a launch works, and what it may use from settings files. */
export interface LaunchLocation {
  stage: Stage;
  project: Project;
  cwd: string;
  trust: LaunchTrust;
}

export interface PrepareDeps {
  store: Store;
  worktrees: Worktrees;
  trust: Pick<Trust, 'forLaunch'>;
  /** Where a new worktree begins, as the project wants it. */
  baseOf: SetUp['baseOf'];
}

/** Creates or finds the worktree of a stage, and stores it in the stage. @throws OperationalError `worktree_failed`, `fetch_failed`; Rejection `settings_invalid` */
export async function prepareWorktree(
  { store, worktrees, trust, baseOf }: PrepareDeps,
  { stageId, withoutFetch = false }: { stageId: StageId; withoutFetch?: boolean },
): Promise<LaunchLocation> {
  const stage = await store.read.stages.find(stageId);
  const project = stage === null ? null : await store.read.projects.find(stage.projectId);
  if (stage === null || project === null) throw new Error(`${stageId} or its project is gone`);
  await forgetLostSetUp(store, stage);
  const notices: string[] = [];
  const notify = (notice: string) => notices.push(notice);
  const start = { base: stage.base, branch: stage.branch };
  const pushed = stage.worktree === null ? await pushedElsewhere(worktrees, project, stage) : null;
  if (pushed !== null) start.base = pushed.commit;
  else if (stage.worktree === null && stage.origin !== null) start.base = stage.origin.commit;
  else if (stage.worktree === null) {
    const wish = await baseOf(stage);
    start.base = await worktrees.newestBase(project, { ...wish, fetch: wish.fetch && !withoutFetch });
  }
  const made = await worktrees.ensure(project, stageId, stage.worktree, { start, notify });
  const begunAt = pushed?.hasBase === true ? stage.lost?.worktree?.base : undefined;
  const worktree = begunAt === undefined ? made : { ...made, base: begunAt }; // all of the stage's work counts as its changes
  const isNew = stage.worktree === null;
  if (notices.length > 0 || isNew || !isSame(stage.worktree, worktree)) {
    await store.transact(async (tx) => {
      await changeSession(tx, stageId, (change) => {
        for (const text of notices) addNotice(change, tx.now, { level: 'warning', code: 'worktree', text });
      });
      const found = await requireStage(tx, stageId);
      const setup = isNew ? (found.setup ?? 'due') : found.setup;
      const updated = { ...found, worktree, setup, lost: null, updatedAt: tx.now };
      await tx.stages.update(updated);
      await tx.emit({ type: 'stage-updated', data: { stageId, stage: updated } });
    });
  }
  await takeOrigin({ store, worktrees }, project, stageId);
  return { stage, project, cwd: worktree.path, trust: await trust.forLaunch(project, worktree) };
}

/** Returns what was pushed last of a stage whose machine was lost; null if nothing was, or it was never there. */
async function pushedElsewhere(worktrees: Worktrees, project: Project, { lost }: Stage): Promise<PushedWork | null> {
  const there = lost?.worktree ?? null;
  return there === null ? null : worktrees.fetchPushed(project, there);
}

/**
 * Fills a new worktree with the files that it begins with, before anybody works in it. Each step may be repeated after an
 * interruption: the files, then that they are there, then that nothing needs to keep them any more.
 */
async function takeOrigin(
  { store, worktrees }: Pick<PrepareDeps, 'store' | 'worktrees'>,
  project: Project,
  stageId: StageId,
): Promise<void> {
  const save = (fields: Partial<WorktreeOrigin>) =>
    store.transact(async (tx) => {
      const found = await requireStage(tx, stageId);
      if (found.origin === null) return;
      const stage = { ...found, origin: { ...found.origin, ...fields }, updatedAt: tx.now };
      await tx.stages.update(stage);
      await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
    });
  const { origin, worktree } = await requireStage(store.read, stageId);
  if (origin === null || worktree === null) return;
  if (!origin.isTaken && origin.tree !== null) {
    await worktrees.fill(worktree, origin.tree);
    await save({ isTaken: true });
  }
  if (origin.ref === null) return;
  await worktrees.dropRef(project, origin.ref);
  await save({ ref: null });
}

/** A worktree that is gone is recreated without what its set-up had made. */
async function forgetLostSetUp(store: Store, { id, worktree, setup }: Stage): Promise<void> {
  if (worktree === null || setup !== 'done' || (await pathExists(worktree.path))) return;
  await store.transact(async (tx) => {
    const updated = { ...(await requireStage(tx, id)), setup: 'due' as const, updatedAt: tx.now };
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: updated } });
  });
}

const isSame = (one: Worktree | null, other: Worktree): boolean =>
  one?.path === other.path &&
  one.branch === other.branch &&
  one.base === other.base &&
  one.isCleanedUp === other.isCleanedUp;

/** How many unavailable settings are named; a longer list ends with the number of the others. */
const MAX_NAMED = 12;

/** The notice about a launch without the repository's settings, so that nobody believes they apply. */
export function leftOutNotice({ summary, unavailable }: LeftOut): Notice {
  const first = `This session started without ${summary}, because the repository’s current settings are not trusted.`;
  const others = unavailable.length - MAX_NAMED;
  const named = others > 0 ? [...unavailable.slice(0, MAX_NAMED), `${others} more`] : unavailable;
  const without = named.length === 0 ? '' : ` Not available: ${named.join(', ')}.`;
  const text = `${first}${without} Its CLAUDE.md, its deny and ask rules, and your own settings still apply. If you trust the repository, the next start uses the rest.`;
  return { level: 'warning', code: 'settings-left-out', text };
}

/** The notice about rules in files that nobody has agreed to: Claude Code asks in spite of them. */
export function newRulesNotice(rules: readonly { value: string; file: string }[]): Notice {
  const named = rules.map(({ value, file }) => `${value} (${file})`).join(', ');
  const text = `New rules that nobody has confirmed, so Claude Code asks despite them: ${named}. If you added them, confirm them on the project’s Rules page.`;
  return { level: 'warning', code: 'new-rules', text };
}
