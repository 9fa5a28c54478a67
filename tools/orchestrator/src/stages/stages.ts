import { type NewStage, Phase, type Stage, StageId, type StagePatch } from '@callboard/contract';
import { reopenStage } from '../domain/reopen-stage.ts';
import { requireNoAlarm } from '../domain/session-alarm.ts';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store, Tables, Tx } from '../store/store.ts';

/** Creates, changes, completes and removes stages on behalf of people. */
export interface Stages {
  /** Creates a stage that has not been started. @throws Rejection `unknown_project`, `unknown_dependency` */
  create(stage: NewStage): Promise<Stage>;
  /**
   * Changes fields of a stage.
   * @throws Rejection `unknown_stage`, `unknown_dependency`; `stage_running` for a new prompt or mode of a started stage
   */
  update(stageId: StageId, patch: StagePatch): Promise<Stage>;
  /** Resolves if the stage can be marked done now. @throws as `complete` */
  requireCompletable(stageId: StageId): Promise<void>;
  /** Marks the stage done. @throws Rejection `unknown_stage`, `already_done`, `stage_running` */
  complete(stageId: StageId): Promise<Stage>;
  /** Moves a done stage back to where it was. @throws Rejection `unknown_stage`, `not_done` */
  reopen(stageId: StageId, actor: string): Promise<void>;
  /** Returns the stage if it can be removed now. @throws as `remove` */
  requireRemovable(stageId: StageId): Promise<Stage>;
  /**
   * Removes the stage with its session and transcript. Its decisions stay in the decision log.
   * @throws Rejection `unknown_stage`, `stage_running`
   */
  remove(stageId: StageId): Promise<Stage>;
}

export function createStages({ store }: { store: Store }): Stages {
  async function save(tx: Tx, stage: Stage): Promise<Stage> {
    await tx.stages.update(stage);
    await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage } });
    return stage;
  }

  return {
    create: (wanted) =>
      store.transact(async (tx) => {
        await requireProject(tx, wanted.projectId);
        await requireDependencies(tx, wanted.dependsOn ?? []);
        const stage = newStage(wanted, await unusedId(tx), tx.now);
        await tx.stages.insert(stage);
        await tx.emit({ type: 'stage-created', data: { stageId: stage.id, stage } });
        return stage;
      }),

    update: (stageId, patch) =>
      store.transact(async (tx) => {
        const stage = await requireStage(tx, stageId);
        const changes = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
        if (patch.dependsOn !== undefined) await requireNoCycle(tx, stageId, patch.dependsOn);
        const started = (await tx.sessions.find(stageId)) !== null;
        if (started && (patch.prompt !== undefined || patch.permissionMode !== undefined)) {
          throw new Rejection(
            'stage_running',
            `${stageId} has been started. Send a message instead of changing its prompt, and change the mode on its page.`,
          );
        }
        const dependsOn = [...new Set(patch.dependsOn ?? stage.dependsOn)];
        return save(tx, { ...stage, ...changes, dependsOn, updatedAt: tx.now });
      }),

    requireCompletable: async (stageId) => void (await completable(store.read, stageId)),

    complete: (stageId) =>
      store.transact(async (tx) => {
        const stage = await completable(tx, stageId);
        return save(tx, { ...stage, completedAt: tx.now, updatedAt: tx.now });
      }),

    reopen: (stageId, actor) =>
      store.transact(async (tx) => {
        const stage = await requireStage(tx, stageId);
        if (stage.completedAt === null) throw new Rejection('not_done', `${stageId} is not done.`);
        await reopenStage(tx, stage, actor);
      }),

    requireRemovable: (stageId) => removable(store.read, stageId),

    remove: (stageId) =>
      store.transact(async (tx) => {
        const stage = await removable(tx, stageId);
        await tx.requests.keepOf(stage);
        await tx.stages.remove(stageId);
        await tx.emit({ type: 'stage-removed', data: { stageId } });
        return stage;
      }),
  };
}

/** Returns a stage that has not been started, with defaults for omitted fields. */
const newStage = (wanted: NewStage, id: StageId, now: string): Stage => ({
  id,
  projectId: wanted.projectId,
  title: wanted.title,
  prompt: wanted.prompt,
  dependsOn: [...new Set(wanted.dependsOn)],
  priority: wanted.priority ?? 2,
  permissionMode: wanted.permissionMode ?? 'default',
  model: wanted.model ?? null,
  sandbox: wanted.sandbox ?? null,
  autoStart: wanted.autoStart ?? false,
  held: wanted.held ?? false,
  pipeline: (wanted.pipeline ?? []).map((phase) => Phase.parse(phase)),
  source: null,
  completedAt: null,
  merged: null,
  worktree: null,
  createdAt: now,
  updatedAt: now,
});

async function removable(tx: Tables, stageId: StageId): Promise<Stage> {
  const stage = await requireStage(tx, stageId);
  await requireNoProcess(tx, stageId);
  return stage;
}

async function completable(tx: Tables, stageId: StageId): Promise<Stage> {
  const stage = await requireStage(tx, stageId);
  if (stage.completedAt !== null) throw new Rejection('already_done', `${stageId} is already done.`);
  requireNoAlarm(await tx.sessions.find(stageId));
  await requireNoProcess(tx, stageId);
  return stage;
}

async function requireNoProcess(tx: Tables, stageId: StageId): Promise<void> {
  const session = await tx.sessions.find(stageId);
  if (session !== null && session.launchId !== null) {
    throw new Rejection('stage_running', `${stageId} has a running session (${session.state}). Stop it first.`);
  }
}

async function requireDependencies(tx: Tx, ids: readonly StageId[]): Promise<void> {
  for (const id of ids) {
    if ((await tx.stages.find(id)) === null)
      throw new Rejection('unknown_dependency', `A stage cannot depend on ${id}: there is no such stage.`);
  }
}

async function requireNoCycle(tx: Tx, stageId: StageId, dependsOn: readonly StageId[]): Promise<void> {
  await requireDependencies(tx, dependsOn);
  const all = new Map((await tx.stages.list()).map((stage) => [stage.id, stage.dependsOn]));
  const seen = new Set<StageId>();
  const next = [...dependsOn];
  for (let id = next.pop(); id !== undefined; id = next.pop()) {
    if (id === stageId) throw new Rejection('unknown_dependency', `${stageId} cannot depend on itself.`);
    if (seen.has(id)) continue;
    seen.add(id);
    next.push(...(all.get(id) ?? []));
  }
}

/** Returns the next unused id; an imported stage may already have a number's id. */
async function unusedId(tx: Tx): Promise<StageId> {
  for (;;) {
    const id = StageId.parse(await tx.stages.nextId());
    if ((await tx.stages.find(id)) === null) return id;
  }
}
