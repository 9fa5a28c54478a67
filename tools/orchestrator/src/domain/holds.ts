import { isDeepStrictEqual } from 'node:util';
import { type Hold, type HoldScope, holdOver, isOnHold, type Stage, type StageId } from '@callboard/contract';
import { requireProject, requireStage } from '../store/require.ts';
import type { Tables, Tx } from '../store/store.ts';

/** What people keep on hold, and how they release it (docs/decisions/limits.md). The newest word counts, whether for one stage, a project or all. */

/** Whether the stage itself, its project or everything is on hold. False for a stage that does not exist. */
export async function isStageOnHold(tx: Pick<Tables, 'stages' | 'holds'>, stageId: StageId): Promise<boolean> {
  const stage = await tx.stages.find(stageId);
  return stage !== null && isOnHold(stage, await tx.holds.list());
}

/** Puts a stage on hold; does nothing if it is. @throws Rejection `unknown_stage` */
export async function holdStage(tx: Tx, stageId: StageId, actor: string): Promise<void> {
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
  released: Parameters<typeof holdOver>[0],
  exception: Hold['except'][number],
): Promise<void> {
  const holding = (await tx.holds.list()).filter((hold) => holdOver(released, [hold]) !== null);
  for (const hold of holding) await tx.holds.save({ ...hold, except: [...hold.except, exception] });
  if (holding.length > 0) await tellHolds(tx);
}

/** Puts a project or everything on hold, with what was released from such a hold before. @throws Rejection `unknown_project` */
export async function holdScope(tx: Tx, scope: HoldScope, actor: string): Promise<void> {
  if ('projectId' in scope) await requireProject(tx, scope.projectId);
  const known = (await tx.holds.list()).find((hold) => isSame(hold.scope, scope));
  if (known !== undefined && known.except.length === 0) return;
  await tx.holds.save({ scope, by: actor, at: tx.now, except: [] });
  await tellHolds(tx);
}

/** Releases a project or everything. What was put on hold more narrowly stays so. @throws Rejection `unknown_project` */
export async function releaseScope(tx: Tx, scope: HoldScope): Promise<void> {
  if ('projectId' in scope) await requireProject(tx, scope.projectId);
  const hadOne = await removeHold(tx, scope);
  if (hadOne) await tellHolds(tx);
  if (!('projectId' in scope)) return;
  const { projectId } = scope;
  await exceptFrom(tx, { id: '', projectId }, { projectId });
}

/** Removes what holds say of a project or stage that is removed: whatever gets its id later is not released by that. */
export async function forgetHoldsOf(tx: Tx, gone: Hold['except'][number]): Promise<void> {
  const hadOne = 'projectId' in gone && (await removeHold(tx, gone));
  const excepting = (await tx.holds.list()).filter(({ except }) => except.some((one) => isDeepStrictEqual(one, gone)));
  for (const hold of excepting) {
    await tx.holds.save({ ...hold, except: hold.except.filter((one) => !isDeepStrictEqual(one, gone)) });
  }
  if (hadOne || excepting.length > 0) await tellHolds(tx);
}

async function removeHold(tx: Tx, scope: HoldScope): Promise<boolean> {
  if (!(await tx.holds.list()).some((hold) => isSame(hold.scope, scope))) return false;
  await tx.holds.remove(scope);
  return true;
}

const isSame = (a: HoldScope, b: HoldScope): boolean =>
  'projectId' in a ? 'projectId' in b && a.projectId === b.projectId : !('projectId' in b);

const tellHolds = async (tx: Tx): Promise<void> =>
  tx.emit({ type: 'holds-updated', data: { holds: await tx.holds.list() } });
