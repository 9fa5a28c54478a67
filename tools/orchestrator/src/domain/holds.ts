import { isDeepStrictEqual } from 'node:util';
import { isPaused, type Pause, type PauseScope, pauseOver, type Stage, type StageId } from '@callboard/contract';
import { requireProject, requireStage } from '../store/require.ts';
import type { Tables, Tx } from '../store/store.ts';

/** What people keep on hold, and how they release it (docs/decisions/limits.md). The newest word counts, whether for one stage, a project or all. */

/** Whether the stage itself, its project or everything is on hold. False for a stage that does not exist. */
export async function isStagePaused(tx: Pick<Tables, 'stages' | 'holds'>, stageId: StageId): Promise<boolean> {
  const stage = await tx.stages.find(stageId);
  return stage !== null && isPaused(stage, await tx.holds.list());
}

/** Puts a stage on hold; does nothing if it is. @throws Rejection `unknown_stage` */
export async function pauseStage(tx: Tx, stageId: StageId, actor: string): Promise<void> {
  const stage = await requireStage(tx, stageId);
  if (!stage.held) await saveStage(tx, { ...stage, held: true, heldBy: { by: actor, at: tx.now } });
}

/** Releases a stage from every hold; does nothing if it is not on hold. @throws Rejection `unknown_stage` */
export async function releaseStage(tx: Tx, stageId: StageId): Promise<void> {
  const stage = await requireStage(tx, stageId);
  if (stage.held) await saveStage(tx, { ...stage, held: false, heldBy: null });
  await exceptFrom(tx, stage, { stageId });
}

async function saveStage(tx: Tx, changed: Stage): Promise<void> {
  const stage = { ...changed, updatedAt: tx.now };
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage } });
}

/** Leaves what is released out of the holds that keep it. */
async function exceptFrom(
  tx: Tx,
  released: Parameters<typeof pauseOver>[0],
  exception: Pause['except'][number],
): Promise<void> {
  const holding = (await tx.holds.list()).filter((pause) => pauseOver(released, [pause]) !== null);
  for (const pause of holding) await tx.holds.save({ ...pause, except: [...pause.except, exception] });
  if (holding.length > 0) await notifyPauses(tx);
}

/** Puts a project or everything on hold, with what was released from such a hold before. @throws Rejection `unknown_project` */
export async function pauseScope(tx: Tx, scope: PauseScope, actor: string): Promise<void> {
  if ('projectId' in scope) await requireProject(tx, scope.projectId);
  const known = (await tx.holds.list()).find((pause) => isSame(pause.scope, scope));
  if (known !== undefined && known.except.length === 0) return;
  await tx.holds.save({ scope, by: actor, at: tx.now, except: [] });
  await notifyPauses(tx);
}

/** Releases a project or everything. What was put on hold more narrowly stays so. @throws Rejection `unknown_project` */
export async function releaseScope(tx: Tx, scope: PauseScope): Promise<void> {
  if ('projectId' in scope) await requireProject(tx, scope.projectId);
  const hadOne = await removePause(tx, scope);
  if (hadOne) await notifyPauses(tx);
  if (!('projectId' in scope)) return;
  const { projectId } = scope;
  await exceptFrom(tx, { id: '', projectId }, { projectId });
}

/** Removes what holds say of a project or stage that is removed: whatever gets its id later is not released by that. */
export async function forgetPausesOf(tx: Tx, gone: Pause['except'][number]): Promise<void> {
  const hadOne = 'projectId' in gone && (await removePause(tx, gone));
  const excepting = (await tx.holds.list()).filter(({ except }) => except.some((one) => isDeepStrictEqual(one, gone)));
  for (const pause of excepting) {
    await tx.holds.save({ ...pause, except: pause.except.filter((one) => !isDeepStrictEqual(one, gone)) });
  }
  if (hadOne || excepting.length > 0) await notifyPauses(tx);
}

async function removePause(tx: Tx, scope: PauseScope): Promise<boolean> {
  if (!(await tx.holds.list()).some((pause) => isSame(pause.scope, scope))) return false;
  await tx.holds.remove(scope);
  return true;
}

const isSame = (a: PauseScope, b: PauseScope): boolean =>
  'projectId' in a ? 'projectId' in b && a.projectId === b.projectId : !('projectId' in b);

const notifyPauses = async (tx: Tx): Promise<void> =>
  tx.emit({ type: 'holds-updated', data: { holds: await tx.holds.list() } });
