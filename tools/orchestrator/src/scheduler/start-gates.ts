import { isDeepStrictEqual } from 'node:util';
import { isWorking, type StageId, type StageView, type StartDelay } from '@callboard/contract';

/** Why one stage does not start automatically at the moment. */
export type StartDelayReason = Omit<StartDelay, 'stageIds'>;

/**
 * Decides whether a ready stage may start automatically; null: it may. `starting`: how many stages are being started, whose
 * processes do not show in the machine's memory yet.
 */
export type StageGate = (stage: StageView, starting: number) => StartDelayReason | null;

/** Another machine starts the stage, so nothing holds it. */
export const ELSEWHERE: StartDelayReason = { code: 'machine', reason: 'Another machine starts it', until: null };

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
export const isReady = ({ column, autoStart }: StageView): boolean => column === 'ready' && autoStart;

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
  const listeners = new Set<() => void>();
  let current: StartDelay[] = [];
  return {
    current: () => current,
    set(pauses) {
      if (isDeepStrictEqual(pauses, current)) return;
      current = pauses;
      for (const listener of listeners) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
