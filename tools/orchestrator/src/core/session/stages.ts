import {
  type Attachment,
  commandsOf,
  findPipeline,
  isChecking,
  type MachineId,
  type NamedPipeline,
  type NewStage,
  Phase,
  type ProjectId,
  type SettingsProblem,
  Stage,
  type StageDefaults,
  StageId,
  type StagePatch,
  stageFieldsAfterStart,
  visibleText,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { truncate } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import { requireProject, requireStage, type Store, type Tables, type Tx } from '../../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { reopenStage, replanWait } from './change-session.ts';
import { planAttachments, storeAttachments } from './message-delivery.ts';
import { requireNoAlarm } from './requests.ts';
import { requireNotInTerminal, requireNotRewinding } from './rewind-rules.ts';
import { forgetPausesOf, pauseStage, releaseStage } from './spending-limits.ts';

/** What else a new stage has, stored in the same transaction. */
export interface MoreOfStage {
  /** Chosen by the client: if a stage was created under it, that one is returned as it is now, and none is created. */
  creationId?: string | undefined;
  /** Returns fields that no form has. What it throws keeps the stage from being created. */
  fields?: (tx: Tx) => Promise<Partial<Pick<Stage, 'adopted' | 'origin' | 'issue' | 'fork'>>>;
  /** Stores what belongs to the stage. */
  also?: (tx: Tx, stage: Stage) => Promise<void>;
}

/** Creates, changes and removes stages on behalf of people. */
export interface Stages {
  /**
   * Creates a stage that has not been started.
   * @throws Rejection `unknown_project`, `unknown_dependency`, `unknown_base`, `bad_branch`, `branch_taken`, `too_many_files`,
   *   `unknown_pipeline`, `settings_not_agreed`
   */
  create(stage: NewStage, more?: MoreOfStage): Promise<Stage>;
  /**
   * Changes fields of a stage.
   * @throws Rejection as `create`; `unknown_stage`; `unknown_file`; `stage_running` for a field or a phase that a started stage keeps
   */
  update(stageId: StageId, patch: StagePatch, actor?: string): Promise<Stage>;
  /** Returns a file of the stage's first message. @throws Rejection `unknown_stage`, `unknown_file` */
  attachment(stageId: StageId, fileId: string): Promise<Attachment>;
  /** Moves a done stage back to where it was. @throws Rejection `unknown_stage`, `not_done` */
  reopen(stageId: StageId, actor: string): Promise<void>;
  /** Returns the stage if it can be removed now. @throws as `remove` */
  requireRemovable(stageId: StageId): Promise<Stage>;
  /**
   * Removes the stage with its session and transcript. Its decisions stay in the decision log.
   * @throws Rejection `unknown_stage`, `stage_running`, `in_terminal`
   */
  remove(stageId: StageId): Promise<Stage>;
}

interface StagesDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'requireStartPoint'>;
  /** The settings in force of new stages of a project. @throws Rejection `unknown_project` */
  settingsOf: (projectId: ProjectId) => Promise<{ settings: { defaults: StageDefaults } }>;
  pipelinesFor: PipelinesFor;
  /** This machine; null where there is one. A stage whose files or conversation are here is its own at once. */
  here?: MachineId | null;
  /** Checks that a pin names a machine; without it, there is one machine. @throws Rejection `unknown_machine` */
  requireMachine?: ((pin: string) => Promise<void>) | undefined;
}

/** Whether it begins with files or a conversation that one machine has. */
const isBound = ({ origin, adopted, fork }: Stage): boolean => origin !== null || adopted !== null || fork !== null;

/** Who holds a stage if no person is named. */
const CALLBOARD = 'Callboard';

/** What the first start uses and nothing changes afterwards. */
const FIXED_ONCE_STARTED = [...stageFieldsAfterStart('nothing'), 'files'] as const;

export function createStages(deps: StagesDeps): Stages {
  const { store, worktrees, pipelinesFor, requireMachine = refusePin } = deps;
  return {
    create: createIn(deps),

    async update(stageId, patch, actor = CALLBOARD) {
      const before = await requireStage(store.read, stageId);
      // One that it has already may be of a machine that is gone by now.
      if (patch.machine != null && patch.machine !== before.machine) await requireMachine(patch.machine);
      const { projectId } = before;
      if ((await store.read.sessions.find(stageId)) === null)
        await requireStart({ store, worktrees }, patch, { projectId, stageId });
      const chosen = await choosePipeline({ pipelinesFor }, patch, before);
      return store.transact(async (tx) => {
        const stage = await requireStage(tx, stageId);
        requireAsSeen(stage, patch);
        const { files, attachments: more, pipeline: _, held, seen: _seen, ...own } = patch;
        const fields = { ...own, ...chosen };
        const changes = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
        if (patch.dependsOn !== undefined) await requireNoCycle(tx, stageId, patch.dependsOn);
        const session = await tx.sessions.find(stageId);
        if (session !== null && FIXED_ONCE_STARTED.some((field) => patch[field] !== undefined)) {
          const advice =
            'Send a message instead of changing its prompt, and change mode and effort on its page. Its branch stays.';
          throw new Rejection('stage_running', `${stageId} has been started. ${advice}`);
        }
        if (chosen.pipeline !== undefined) requireStartedPhasesUnchanged(stage, session, chosen.pipeline);
        const dependsOn = [...new Set(patch.dependsOn ?? stage.dependsOn)];
        const attachments = await changeAttachments(tx, stage, { files, more });
        const saved = await save(tx, { ...stage, ...changes, attachments, dependsOn, updatedAt: tx.now });
        if (saved.goesOnAtReset !== stage.goesOnAtReset) await replanWait(tx, saved);
        return held === undefined || held === stage.held ? saved : setHeld(tx, stageId, held, actor);
      });
    },

    async attachment(stageId, fileId) {
      await requireStage(store.read, stageId);
      const file = await store.read.attachments.find(stageId, fileId);
      if (file === null)
        throw new Rejection('unknown_file', `${stageId} has no file ${fileId}. It may have been removed.`);
      return file;
    },

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
        await forgetStage(tx, stage);
        return stage;
      }),
  };
}

/** Returns how to create a stage. */
function createIn({
  store,
  worktrees,
  settingsOf,
  pipelinesFor,
  here = null,
  requireMachine = refusePin,
}: StagesDeps): Stages['create'] {
  return async (wanted, { creationId, fields, also } = {}) => {
    // Before anything is checked: the first one may have changed what would be found, as the branches that are taken.
    const earlier = await created(store.read, creationId);
    if (earlier !== null) return earlier;
    if (wanted.machine != null) await requireMachine(wanted.machine);
    await requireStart({ store, worktrees }, wanted, { projectId: wanted.projectId, stageId: null });
    const { defaults } = (await settingsOf(wanted.projectId)).settings;
    const chosen = await choosePipeline({ pipelinesFor }, wanted, { projectId: wanted.projectId, worktree: null });
    return store.transact(async (tx) => {
      const meanwhile = await created(tx, creationId);
      if (meanwhile !== null) return meanwhile;
      await requireProject(tx, wanted.projectId);
      await requireDependencies(tx, wanted.dependsOn ?? []);
      const id = await unusedId(tx);
      const { attachments, pipeline: _, ...own } = wanted;
      const dependsOn = [...new Set(wanted.dependsOn)];
      const made = newStage({ ...own, ...chosen, ...chosenOf(wanted, defaults), dependsOn, id }, tx.now);
      const files = planAttachments(tx, made, { save: [], more: attachments ?? [] });
      const given = { ...made, ...(await fields?.(tx)), attachments: files.files };
      const stage = here !== null && isBound(given) ? { ...given, machineId: here } : given;
      await tx.stages.insert(stage, creationId);
      await storeAttachments(tx, id, files);
      await tx.emit({ type: 'stage-created', data: { stageId: stage.id, stage } });
      await also?.(tx, stage);
      return stage;
    });
  };
}

/** The stage that an earlier attempt has created. */
const created = async ({ stages }: Pick<Tables, 'stages'>, creationId: string | undefined): Promise<Stage | null> =>
  creationId === undefined ? null : stages.findCreated(creationId);

async function setHeld(tx: Tx, stageId: StageId, held: boolean, actor: string): Promise<Stage> {
  await (held ? pauseStage(tx, stageId, actor) : releaseStage(tx, stageId));
  return requireStage(tx, stageId);
}

async function save(tx: Tx, stage: Stage): Promise<Stage> {
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage } });
  return stage;
}

/** Throws unless git accepts where the stage's branch begins and what it is called, and no other stage wants that name. */
async function requireStart(
  { store, worktrees }: Pick<StagesDeps, 'store' | 'worktrees'>,
  { base = null, branch = null }: StagePatch,
  { projectId, stageId }: Omit<WantedBranch, 'branch'>,
): Promise<void> {
  if (base === null && branch === null) return;
  await worktrees.requireStartPoint(await requireProject(store.read, projectId), { base, branch });
  if (branch !== null) requireUnclaimed(await store.read.stages.list(), { projectId, stageId, branch });
}

/** Stores the new files of a stage's first message; without `files` and `more` it keeps those it has. Returns all of them. */
async function changeAttachments(
  tx: Tx,
  stage: Stage,
  { files, more }: { files: string[] | undefined; more: Attachment[] | undefined },
): Promise<Stage['attachments']> {
  if (files === undefined && more === undefined) return stage.attachments;
  const change = planAttachments(tx, stage, { save: files ?? [], more: more ?? [] });
  await storeAttachments(tx, stage.id, change);
  return change.files;
}

async function removable(tx: Tables, stageId: StageId): Promise<Stage> {
  const stage = await requireStage(tx, stageId);
  await requireNoProcess(tx, stageId);
  return stage;
}

/** Throws unless nothing works on the stage. @throws Rejection `session_alarm`, `in_terminal`, `stage_running`, `cannot_go_back` */
export async function requireCompletable(tx: Tables, { id }: Stage): Promise<void> {
  requireNoAlarm(await tx.sessions.find(id));
  await requireNoProcess(tx, id);
}

async function requireNoProcess(tx: Tables, stageId: StageId): Promise<void> {
  const session = await tx.sessions.find(stageId);
  requireNotInTerminal(session);
  if (session !== null && isChecking(session)) {
    throw new Rejection('stage_running', `A check of ${stageId} is running. Stop it, or wait for its result.`);
  }
  requireNotRewinding(session);
  if (session !== null && session.launchId !== null) {
    throw new Rejection('stage_running', `${stageId} has a running session (${session.state}). Stop it first.`);
  }
}

interface WantedBranch {
  projectId: ProjectId;
  stageId: StageId | null;
  branch: string;
}

/** Git does not know the branches of stages that were not started yet. */
function requireUnclaimed(stages: readonly Stage[], { projectId, stageId, branch }: WantedBranch): void {
  const other = stages.find(
    (one) => one.projectId === projectId && one.id !== stageId && one.branch === branch && one.worktree === null,
  );
  if (other === undefined) return;
  const message = `${other.id} (${other.title}) is to create the branch ${branch}. Choose another name for this stage's branch.`;
  throw new Rejection('branch_taken', message);
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

const QUOTED = 300;

/** @throws Rejection `stage_changed` if a text that is to be replaced is not the one that was shown */
function requireAsSeen({ id, ...stage }: Stage, { seen = {}, ...patch }: StagePatch): void {
  for (const key of ['title', 'prompt'] as const) {
    const isOther = seen[key] !== undefined && seen[key] !== stage[key];
    if (!isOther || patch[key] === undefined || patch[key] === stage[key]) continue;
    const now = truncate(stage[key], QUOTED);
    const message = `The ${key} of ${id} was changed since you opened it, so nothing was saved. It is now: "${now}". Take over what you need, then save again.`;
    throw new Rejection('stage_changed', message);
  }
}

/**
 * Checks that a change of the phases leaves those that have begun as they are: Claude was told of them. What decides at the end of the
 * current one may still change; a check that is running keeps its command.
 * @throws Rejection `stage_running`
 */
function requireStartedPhasesUnchanged(stage: Stage, session: SessionRecord | null, wanted: readonly Phase[]): void {
  if (session === null) return;
  if (stage.pipeline.length === 0 && wanted.length > 0)
    throw new Rejection('stage_running', `${stage.id} was started without phases. Send it a message instead.`);
  const changed = stage.pipeline.slice(0, session.phaseIndex + 1).find((begun, index) => {
    const now = wanted[index];
    const saved = index === session.phaseIndex && now !== undefined ? { ...begun, gate: now.gate } : begun;
    return JSON.stringify(inOrder(saved)) !== JSON.stringify(now === undefined ? null : inOrder(now));
  });
  if (changed === undefined) return;
  const advice = 'Only what decides at its end can change, and the phases after it.';
  throw new Rejection('stage_running', `The phase "${changed.name}" of ${stage.id} has begun. ${advice}`);
}

const inOrder = ({ name, prompt, permissionMode, gate, kind = 'work', conversation, ...rest }: Phase) => {
  rest satisfies Record<string, never>;
  return { name, prompt, permissionMode, gate, kind, conversation };
};

/** The pipelines that a project offers at one commit. */
export interface PipelineSource {
  pipelines: readonly NamedPipeline[];
  /** Why `callboard.yaml` cannot be used; its pipelines are missing then. */
  problems: readonly SettingsProblem[];
  /** Whether people agreed to everything that `callboard.yaml` would run. */
  isAgreed: boolean;
  /** Where `callboard.yaml` was read; null: at the main checkout's current commit. */
  at: string | null;
}

/** Reads the pipelines that a stage may name. @throws Rejection `unknown_project` */
export type PipelinesFor = (projectId: ProjectId, stage: Pick<Stage, 'base' | 'worktree'>) => Promise<PipelineSource>;

/**
 * Returns the pipeline with this name, whatever its case.
 * @throws Rejection `unknown_pipeline`, which lists the names; `settings_not_agreed` for one of `callboard.yaml` that runs commands or
 *   finishes stages before people have agreed to that
 */
export function requirePipeline({ pipelines, problems, isAgreed, at }: PipelineSource, name: string): NamedPipeline {
  const where = at === null ? '' : ` at ${visibleText(at, 'command')}`;
  const found = findPipeline(pipelines, name);
  if (found === null) {
    const known = pipelines.map((one) => `"${one.name}"`).join(', ');
    const [problem] = problems;
    const broken =
      problem === undefined
        ? ''
        : ` Those of callboard.yaml${where} are missing, because it cannot be used (line ${problem.line}).`;
    throw new Rejection('unknown_pipeline', `There is no pipeline "${name}"${where}. There are ${known}.${broken}`);
  }
  const acts = commandsOf(found).length > 0 || (found.finish !== null && found.finish !== 'none');
  if (found.origin === 'file' && acts && !isAgreed) {
    const message = `Nobody has agreed yet to what the pipeline "${found.name}" of callboard.yaml${where} would run.`;
    const step =
      at === null
        ? `Review it on the project's Rules page.`
        : `Review it on the project's Rules page if the main checkout has the same file; otherwise start a stage there without a pipeline, which asks for it.`;
    throw new Rejection('settings_not_agreed', `${message} ${step}`);
  }
  return found;
}

/** The phases of a stage, and how it is finished; undefined: nobody said so. */
export interface ChosenPipeline {
  pipeline: Phase[] | undefined;
  finish: Stage['finish'] | undefined;
}

/**
 * Returns the phases that were given or named. A named pipeline also says how the stage is finished, unless the person does.
 * @param stage as it was before
 * @throws Rejection as `requirePipeline`; `unknown_project`
 */
async function choosePipeline(
  { pipelinesFor }: { pipelinesFor: PipelinesFor },
  { pipeline, finish, base }: StagePatch,
  stage: { projectId: ProjectId; base?: string | null; worktree: Stage['worktree'] },
): Promise<ChosenPipeline> {
  if (typeof pipeline !== 'string') return { pipeline: pipeline?.map((phase) => Phase.parse(phase)), finish };
  const start = { worktree: stage.worktree, base: (base === undefined ? stage.base : base) ?? null };
  const named = requirePipeline(await pipelinesFor(stage.projectId, start), pipeline);
  return { pipeline: named.phases, finish: finish === undefined ? (named.finish ?? undefined) : finish };
}

/** Removes a stage with all that is kept for it alone; its decisions stay in the decision log. */
async function forgetStage(tx: Tx, stage: Stage): Promise<void> {
  const { id: stageId } = stage;
  await tx.requests.retainOf(stage);
  await tx.stages.remove(stageId);
  await tx.budgets.remove({ stageId });
  await forgetPausesOf(tx, { stageId });
  await tx.emit({ type: 'stage-removed', data: { stageId } });
}

/** Returns what the person chose, or else the project's defaults. */
const chosenOf = (wanted: NewStage, { mode, model, effort }: StageDefaults) => ({
  permissionMode: wanted.permissionMode ?? mode ?? 'default',
  model: wanted.model === undefined ? (model ?? null) : wanted.model,
  effort: wanted.effort === undefined ? (effort ?? null) : wanted.effort,
});

/** Returns a stage that has not been started, with defaults for omitted fields. */
export const newStage = (fields: Partial<Stage> & Pick<Stage, 'id' | 'projectId'>, now: string): Stage =>
  Stage.parse({ completedAt: null, worktree: null, createdAt: now, updatedAt: now, ...fields });

/** What a pin to a machine means where there is one. @throws Rejection `unknown_machine` */
export const refusePin = (): Promise<never> =>
  Promise.reject(new Rejection('unknown_machine', 'This Callboard has one machine, so none can be chosen.'));
