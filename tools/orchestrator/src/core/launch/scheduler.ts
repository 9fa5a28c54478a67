import { isDeepStrictEqual } from 'node:util';
import {
  type Budget,
  boardView,
  covers,
  isPaused,
  isWorking,
  type LimitsView,
  limitState,
  type StageId,
  type StageView,
  type StartDelay,
  scopeText,
  spentLimit,
  spentText,
} from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { createReconciler } from '@callboard/runtime/reconciler';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { MessageRow, SessionRecord } from '../../store/records.ts';
import type { Tables, Tx } from '../../store/store.ts';
import { onEvents, onSessionChange, type Store } from '../../store/store.ts';
import type { ResumeIn } from '../session/change-session.ts';
import { changeSession, continueReleased, openChange, saveChange } from '../session/change-session.ts';
import { followPipeline } from '../session/pipeline.ts';
import type { SessionChange } from '../session/session-change.ts';
import { endWaits, isStagePaused } from '../session/spending-limits.ts';

export interface SchedulerDeps {
  store: Pick<Store, 'board' | 'onEvent'>;
  log: Logger;
  maxParallel: number;
  /** False while nothing may start. Call `schedule` when that changes. */
  mayStart: () => boolean;
  /** The first one that refuses a stage names the reason. Call `schedule` when one opens. */
  gates: readonly StartGate[];
  /** Gets what holds stages, after each pass. */
  holds: Pick<StartDelays, 'set'>;
  /** Resolves when the stage's process is up. A start that fails is recorded in its session. */
  start: (stageId: StageId) => Promise<void>;
  /** Stages that wait for a usage limit. Call `schedule` when one is due. */
  waits: {
    isDue: (stage: StageView) => boolean;
    resume: (stageId: StageId) => Promise<void>;
  };
  /** Stages without a process that go on after a hold, or with a message that had to wait. Call `schedule` when there may be more. */
  deferred: {
    list: () => Promise<readonly StageId[]>;
    resume: (stageId: StageId) => Promise<void>;
  };
}

/** Starts stages that start automatically. Events are only hints: each pass reads the store. */
export interface Scheduler {
  /** Requests another pass. */
  schedule(): void;
  /** Resolves when no pass is running or due. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** In case a hint was lost. */
const INTERVAL_MS = 30_000;
/** Nothing tells that memory was freed. */
const MEMORY_CHECK_INTERVAL_MS = 5_000;
/** The machine that a stage is left to may have no room after all. */
const ELSEWHERE_CHECK_INTERVAL_MS = 1_000;

export function startScheduler(deps: SchedulerDeps): Scheduler {
  const { store, log, maxParallel, mayStart, gates, holds, start, waits, deferred } = deps;
  /** Whether a stage was ready or due in the last pass. If none was, room alone starts nothing: an event that makes one ready is a hint too. */
  let isAnyReady = true;

  async function pass(): Promise<void> {
    if (!mayStart()) return holds.set([]); // the board says why
    const { stages } = boardView(await store.board());
    const toResume = new Set(await deferred.list());
    const isDue = (stage: StageView) => toResume.has(stage.id) || waits.isDue(stage);
    isAnyReady = stages.some((stage) => isReady(stage) || isDue(stage));
    const plan = planStarts(stages, maxParallel, await Promise.all(gates.map((gate) => gate())), isDue);
    holds.set(plan.holds);
    const waitsForMemory = plan.holds.some(({ code }) => code === 'memory');
    if (plan.isAnyElsewhere) passes.scheduleIn(ELSEWHERE_CHECK_INTERVAL_MS);
    else if (waitsForMemory) passes.scheduleIn(MEMORY_CHECK_INTERVAL_MS);
    // Together: `start` marks its stage as starting at once, so the next pass does not pick it again.
    await Promise.all([
      ...plan.resume.map((id) => startOne(id, toResume.has(id) ? deferred.resume : waits.resume)),
      ...plan.start.map((id) => startOne(id, start)),
    ]);
  }

  async function startOne(stageId: StageId, begin: SchedulerDeps['start']): Promise<void> {
    try {
      await begin(stageId);
    } catch (error) {
      // A person was quicker, or the start failed, which its card shows.
      if (error instanceof Rejection) log.info({ stageId, code: error.code }, 'stage not started');
      else log.error({ err: error, stageId }, 'starting a stage failed');
    }
  }

  const passes = createReconciler(pass, (error) => log.error({ err: error }, 'scheduler pass failed'), {
    everyMs: INTERVAL_MS,
    // What can make a stage ready. A session that stops working makes room for one.
    on: (schedule) => [
      onEvents(store, ['stage-created', 'stage-updated', 'stage-removed', 'holds-updated'], schedule),
      onSessionChange(store, ['state'], ({ state }) => {
        if (isAnyReady && !isWorking(state)) schedule();
      }),
    ],
  });
  passes.schedule();
  return passes;
}

/** Another machine starts the stage, so nothing holds it. */
export const ELSEWHERE: StartDelayReason = { code: 'machine', reason: 'Another machine starts it', until: null };

/** Why one stage does not start automatically at the moment. */
export type StartDelayReason = Omit<StartDelay, 'stageIds'>;

/**
 * Decides whether a ready stage may start automatically; null: it may. `starting`: how many stages are being started, whose
 * processes do not show in the machine's memory yet.
 */
export type StageGate = (stage: StageView, starting: number) => StartDelayReason | null;

/** A reason to hold automatic starts: reads what it needs, once for each pass of the scheduler. */
export type StartGate = () => StageGate | Promise<StageGate>;

/** What one pass of the scheduler does. */
export interface StartPlan {
  start: StageId[];
  /** Stages that were begun and whose wait is over, for a release or a usage limit; they have room before others. */
  resume: StageId[];
  holds: StartDelay[];
  /** Whether something is left to another machine. */
  isAnyElsewhere: boolean;
}

/**
 * Returns the stages to start now, within the limit and past all gates: the most urgent first, the older first among equals. The first
 * gate that refuses a stage names the reason; the stage takes no room from others. Sessions that are idle or wait for a person do not
 * count against the limit. Stages that were begun go on first: those that were released, the most urgent first, and then those that
 * waited for a usage limit, the longest-waiting before others.
 */
export function planStarts(
  stages: readonly StageView[],
  maxParallel: number,
  gates: readonly StageGate[],
  isDue: (stage: StageView) => boolean = () => false,
): StartPlan {
  const sessions = stages.flatMap(({ session }) => session ?? []);
  const beingStarted = sessions.filter(({ state }) => state === 'starting').length;
  const room = maxParallel - sessions.filter(({ state }) => isWorking(state)).length;
  const plan: StartPlan = { start: [], resume: [], holds: [], isAnyElsewhere: false };
  const ready = stages.filter(isReady).toSorted((a, b) => a.priority - b.priority);
  for (const stage of [...stages.filter(isDue).toSorted(byReset), ...ready]) {
    const begun = plan.start.length + plan.resume.length;
    const refusal = firstRefusal(gates, stage, beingStarted + begun);
    if (refusal === ELSEWHERE) plan.isAnyElsewhere = true;
    else if (refusal !== null) addStartDelay(plan.holds, refusal, stage.id);
    else if (begun < room) (stage.session === null ? plan.start : plan.resume).push(stage.id);
  }
  return plan;
}

const byReset = (a: StageView, b: StageView): number => {
  const [at = '', other = ''] = [a, b].map(({ session }) => session?.limitWait?.goesOnAt ?? '');
  return at.localeCompare(other, 'en') || a.priority - b.priority;
};

/** Whether a stage starts automatically once there is room. */
const isReady = ({ column, autoStart }: StageView): boolean => column === 'ready' && autoStart;

function firstRefusal(gates: readonly StageGate[], stage: StageView, starting: number): StartDelayReason | null {
  for (const gate of gates) {
    const refusal = gate(stage, starting);
    if (refusal !== null) return refusal;
  }
  return null;
}

function addStartDelay(pauses: StartDelay[], { code, reason, until }: StartDelayReason, stageId: StageId): void {
  const same = pauses.find((pause) => pause.code === code && pause.reason === reason && pause.until === until);
  if (same === undefined) pauses.push({ code, reason, until, stageIds: [stageId] });
  else same.stageIds.push(stageId);
}

/** What holds automatic starts, as of the newest pass of the scheduler. */
export interface StartDelays {
  current(): StartDelay[];
  set(pauses: StartDelay[]): void;
  /** Calls the listener on every change. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

export function createStartDelays(): StartDelays {
  const changed = createEmitter();
  let current: StartDelay[] = [];
  return {
    current: () => current,
    set(pauses) {
      if (isDeepStrictEqual(pauses, current)) return;
      current = pauses;
      changed.emit();
    },
    onChange: changed.subscribe,
  };
}

/** Keeps stages with a spent budget from starting automatically. @param list the budgets, with what was spent */
export const createBudgetGate =
  (list: () => Promise<Budget[]>): StartGate =>
  async () => {
    const spent = (await list()).flatMap((budget) => spentLimit(budget) ?? []);
    return ({ id, projectId }) => {
      const budget = spent.find(({ scope }) => covers(scope, { stageId: id, projectId }));
      if (budget === undefined) return null;
      const reason = `Budget ${scopeText(budget.scope)} spent: ${spentText(budget)}`;
      return { code: 'budget', reason, until: null };
    };
  };

/** Holds automatic starts of stages that are on hold, and keeps them from going on at the reset of a usage limit. */
export const createPauseGate =
  ({ store }: { store: Pick<Store, 'read'> }): StartGate =>
  async () => {
    const pauses = await store.read.holds.list();
    return (stage) => (isPaused(stage, pauses) ? { code: 'hold', reason: 'On hold', until: null } : null);
  };

export interface LimitGateDeps {
  platform: Pick<Platform, 'now'>;
  store: Pick<Store, 'read'>;
}

/**
 * Holds automatic starts while a usage limit of the account is near, so that what is begun can finish, and while one is reached. A
 * stage that waited for a reset goes on unless another limit is known to be reached; any other that was begun, unless one is reached.
 */
export const createLimitGate =
  ({ platform, store }: LimitGateDeps): StartGate =>
  async () =>
    limitGate(await store.read.limits.view(), platform.now().toISOString());

/** The gate of one pass. */
export function limitGate({ limits, settings }: LimitsView, now: string): StageGate {
  const { holdStartsAt } = settings;
  const { state, utilization, resetsAt } = limitState(limits, holdStartsAt ?? Number.POSITIVE_INFINITY, now);
  const isNear = state === 'near' && holdStartsAt !== null;
  if (state !== 'reached' && !isNear) return () => null;
  const share = utilization === null ? 'near' : `at ${Math.round(utilization * 100)} %`;
  const reason = state === 'reached' ? 'Usage limit reached' : `Usage limit ${share}`;
  const pause = { code: 'usage-limit', reason, until: resetsAt } as const;
  return ({ session }) => {
    if (session === null) return pause;
    // Its own limit it has waited for, by a clock that nobody sets (`startWaitClock`).
    const hasWaited = session.limitWait?.goesOnAt != null;
    const isOther = !hasWaited || (resetsAt !== null && resetsAt !== session.limitWait?.resetsAt);
    return state === 'reached' && isOther ? pause : null;
  };
}

export interface MemoryGateDeps {
  platform: Pick<Platform, 'availableMemory' | 'residentMemory'>;
  store: Pick<Store, 'read'>;
}

const MIB = 1_048_576;
/** What stays free after a start, for the work of the sessions that run: their commands, and the machine. */
const SAVED_BYTES = 400 * MIB;
/** What a `claude` takes until one has been measured (seen: 200 to 400 MB). */
const USUAL_BYTES = 300 * MIB;

/**
 * Holds automatic starts while the machine has no room for one more `claude`, which takes as much as those that run now do on average.
 * One that was just started does not hold all of its memory yet, so room is kept for it.
 */
export const createMemoryGate =
  ({ platform, store }: MemoryGateDeps): StartGate =>
  async () => {
    const live = (await store.read.launches.listNotEnded()).flatMap(({ process }) => process ?? []);
    const sizes = live.flatMap(({ pid }) => platform.residentMemory(pid) ?? []);
    return memoryGate(platform.availableMemory(), sizes);
  };

/** The gate of one pass. @param sizes what the living processes hold */
export function memoryGate(available: number, sizes: readonly number[]): StageGate {
  const mean = sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length);
  const needed = Math.max(USUAL_BYTES, mean);
  // The process of a stage that goes on may still be there.
  return ({ session }, starting) =>
    session?.launchId != null || available - starting * needed >= needed + SAVED_BYTES
      ? null
      : { code: 'memory', reason: 'Waits for memory', until: null };
}

export interface DeferredWorkDeps extends ResumeIn {
  store: Store;
  log: Logger;
}

/**
 * Continues after a time in which nothing could be delivered or stored, or the stage was on hold: idle sessions get their next message
 * or phase, and rows that could not be marked are written again. A session that fails does not stop the others. What needs a new process
 * is left to the scheduler (`listDeferred`), so that not all of them are started at once.
 * @param isMeant which sessions; all if left out
 */
export async function resumeDeferredWork(
  deps: DeferredWorkDeps,
  isMeant: (record: SessionRecord) => boolean = () => true,
): Promise<void> {
  for (const record of await deps.store.read.sessions.list()) {
    const { stageId, launchId } = record;
    if (launchId === null || !isMeant(record)) continue;
    try {
      await resumeDeferred(deps, stageId);
    } catch (error) {
      deps.log.error({ err: error, stageId }, 'resuming the deferred work of a session failed');
    }
  }
}

/** Returns the stages without a process that go on as soon as there is room for one: released, or with a message that had to wait. */
export async function listDeferred(
  tables: Pick<Tables, 'sessions' | 'stages' | 'holds' | 'outbox'>,
): Promise<StageId[]> {
  const deferred: StageId[] = [];
  const pauses = await tables.holds.list();
  for (const record of (await tables.sessions.list()).filter(mayBeDeferred)) {
    const { stageId, withheld } = record;
    const stage = await tables.stages.find(stageId);
    if (stage === null || stage.completedAt !== null || isPaused(stage, pauses)) continue;
    if (withheld || (await awaitingRoom(tables, stageId)) !== undefined) deferred.push(stageId);
  }
  return deferred;
}

/** One that waits for the reset of a usage limit goes on with that. */
const mayBeDeferred = ({ launchId, queued, withheld, alarm, terminal, goingBack, limitWait }: SessionRecord): boolean =>
  launchId === null &&
  (withheld || queued > 0) &&
  alarm === null &&
  terminal === null &&
  goingBack === null &&
  limitWait?.goesOnAt == null;

/** Continues one session where it was, once; does nothing if there is nothing to go on with. @throws as `beginLaunch` */
export const resumeDeferred = (deps: Omit<DeferredWorkDeps, 'log'>, stageId: StageId): Promise<void> =>
  deps.store.transact((tx) => resumeOne(tx, stageId, deps));

async function resumeOne(tx: Tx, stageId: StageId, deps: Omit<DeferredWorkDeps, 'log'>): Promise<void> {
  const record: SessionRecord | null = await tx.sessions.find(stageId);
  if (record === null || record.alarm !== null || record.terminal !== null) return;
  if (record.launchId !== null) {
    await changeSession(tx, stageId, () => undefined); // saving delivers the next message
    return;
  }
  if ((await tx.stages.find(stageId))?.completedAt != null || (await isStagePaused(tx, stageId))) return;
  if (record.holdInterrupt === 'interrupted' && record.turnMessages.length > 0) {
    await changeSession(tx, stageId, endWaits);
    return deps.repeatIn(tx, stageId); // Claude lacks what it was told last
  }
  const row = record.withheld ? await releasedWork(tx, stageId) : await awaitingRoom(tx, stageId);
  if (row !== undefined) await deps.resumeWith(tx, stageId, row);
}

const awaitingRoom = async (tx: Pick<Tables, 'outbox'>, stageId: StageId): Promise<MessageRow | undefined> =>
  (await tx.outbox.queueOf(stageId)).find(({ body }) => body.awaitsRoom);

/** Makes due what a session without a process goes on with, and returns the message for its next one. */
async function releasedWork(tx: Tx, stageId: StageId): Promise<MessageRow | undefined> {
  const change: SessionChange = await openChange(tx, stageId);
  if (change.record.holdInterrupt === 'interrupted') await continueReleased(tx, change);
  else await followPipeline(tx, change); // does nothing while a message is queued
  const { queueHeld } = await saveChange(tx, change);
  const waiting = await awaitingRoom(tx, stageId);
  return waiting ?? (queueHeld ? undefined : (await tx.outbox.queueOf(stageId))[0]);
}
