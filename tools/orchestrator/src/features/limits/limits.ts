import type { CommandInput, LimitsView, SessionSummary, StageId, StageView } from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import {
  openWaiting,
  type ResumeIn,
  replanWait,
  resumeIn,
  saveChange,
  setResumes,
} from '../../core/session/change-session.ts';
import { requireNoAlarm } from '../../core/session/requests.ts';
import { requireNotInTerminal } from '../../core/session/rewind-rules.ts';
import { isStagePaused, releaseStage } from '../../core/session/spending-limits.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { SessionRecord } from '../../store/records.ts';
import { onEvents, onSessionChange, requireStage, type Store, type Tx } from '../../store/store.ts';

/** The usage limits of the account, and the stages that wait for one. */
export interface Limits {
  /** The limits as last reported, and what happens at one. */
  view(): Promise<LimitsView>;
  /** Changes what happens at a limit, also for stages that wait already. Returns the new view. */
  update(patch: CommandInput<'update_limits'>): Promise<LimitsView>;
  /**
   * Decides for a person when a waiting stage goes on.
   * @throws Rejection `no_session`, `unknown_stage`, `not_at_limit`, `reset_unknown`, `already_done`, `session_alarm`, `in_terminal`, `disk_low`
   */
  decide(stageId: StageId, when: CommandInput<'go_on'>['when'], actor: string): Promise<void>;
  /** Lets a stage go on whose limit has reset; does nothing if it does not wait any more. */
  resume(stageId: StageId): Promise<void>;
}

export interface LimitsDeps extends ResumeIn {
  store: Store;
}

/** Whether nothing has happened since the plan that keeps the session from going on by itself. */
async function mayResume(tx: Tx, { stageId, limitWait, alarm, terminal, goingBack }: SessionRecord): Promise<boolean> {
  if (limitWait?.goesOnAt == null || alarm !== null || terminal !== null || goingBack !== null) return false;
  return (await requireStage(tx, stageId)).completedAt === null && !(await isStagePaused(tx, stageId));
}

export function createLimits(deps: LimitsDeps): Limits {
  const { store } = deps;

  async function resume(tx: Tx, stageId: StageId, actor: string | null): Promise<void> {
    const change = await openWaiting(tx, stageId);
    if (change === null || (actor === null && !(await mayResume(tx, change.record)))) return;
    if (actor !== null) await releaseStage(tx, stageId);
    await resumeIn(tx, deps, change, actor);
  }

  return {
    view: () => store.read.limits.view(),
    update: (patch) =>
      store.transact(async (tx) => {
        const { limits, settings } = await tx.limits.view();
        const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
        const view = { limits, settings: { ...settings, ...given } };
        await tx.limits.saveSettings(view.settings);
        await tx.emit({ type: 'limits-updated', data: view });
        for (const { stageId } of await tx.sessions.list()) {
          const stage = await tx.stages.find(stageId);
          if (stage !== null && stage.goesOnAtReset === null && patch.goesOnAtReset !== undefined)
            await replanWait(tx, stage);
        }
        return view;
      }),
    decide: (stageId, when, actor) =>
      store.transact(async (tx) => {
        const change = await openWaiting(tx, stageId);
        if (change === null) {
          const message = `${stageId} does not wait for a usage limit. It may have gone on already.`;
          throw new Rejection('not_at_limit', message);
        }
        requireNoAlarm(change.record);
        requireNotInTerminal(change.record);
        if ((await requireStage(tx, stageId)).completedAt !== null)
          throw new Rejection('already_done', `${stageId} is done. Reopen it, or send it a message.`);
        if (when === 'now') return resume(tx, stageId, actor);
        if (when === 'at-reset' && change.record.limitWait?.resetsAt === null) {
          const message = 'Claude Code did not say when this limit resets. Try again later, or send a message.';
          throw new Rejection('reset_unknown', message);
        }
        setResumes(tx, change, when === 'at-reset');
        await saveChange(tx, change);
      }),
    resume: (stageId) => store.transact((tx) => resume(tx, stageId, null)),
  };
}

export interface LimitDeps {
  usageLimits: Limits;
  views: BoardViews;
}

type LimitCommands = 'get_limits' | 'update_limits' | 'go_on';

export const limitCommands = ({ usageLimits, views }: LimitDeps): Pick<CommandHandlers, LimitCommands> => ({
  get_limits: usageLimits.view,
  update_limits: (patch) => usageLimits.update(patch),
  go_on: async ({ stageId, when }, { actor }) => {
    await usageLimits.decide(stageId, when, actor.name);
    return { session: await views.session(stageId) };
  },
});

export interface WaitClockDeps {
  store: Pick<Store, 'read' | 'onEvent'>;
  platform: Pick<Platform, 'now' | 'uptimeMs'>;
  /** How often the time of day is read: somebody may set it. */
  checkIntervalMs: number;
  /** Called when stages may go on, and again every `checkIntervalMs` while they have not. */
  onDue: () => void;
}

/** Tells which stages have waited long enough for a usage limit. */
export interface WaitClock {
  isDue(stage: Pick<StageView, 'id' | 'completedAt' | 'session'>): boolean;
  stop(): void;
}

/**
 * Follows the waits of all sessions, also those from before a restart. A wait is over when the time of day says so, or when as much
 * time has passed as it said at first: whoever sets the clock back does not make stages wait for longer.
 */
export async function startWaitClock({ store, platform, checkIntervalMs, onDue }: WaitClockDeps): Promise<WaitClock> {
  /** When each wait is over, by the time of day and in `uptimeMs`. */
  const waits = new Map<StageId, { goesOnAt: string; deadline: number }>();
  let timer: NodeJS.Timeout | undefined;

  function follow({ stageId, limitWait }: Pick<SessionSummary, 'stageId' | 'limitWait'>): void {
    const goesOnAt = limitWait?.goesOnAt ?? null;
    if (limitWait === null || goesOnAt === null) return void waits.delete(stageId);
    if (waits.get(stageId)?.goesOnAt === goesOnAt) return;
    const wholeMs = Date.parse(goesOnAt) - Date.parse(limitWait.since);
    const leftMs = Math.min(Math.max(0, Date.parse(goesOnAt) - platform.now().getTime()), Math.max(0, wholeMs));
    waits.set(stageId, { goesOnAt, deadline: platform.uptimeMs() + leftMs });
  }

  const leftOf = ({ goesOnAt, deadline }: { goesOnAt: string; deadline: number }): number =>
    Math.min(Date.parse(goesOnAt) - platform.now().getTime(), deadline - platform.uptimeMs());

  function schedule(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waits.size === 0) return;
    const soonest = Math.min(...[...waits.values()].map(leftOf));
    const inMs = soonest <= 0 ? checkIntervalMs : Math.min(soonest, checkIntervalMs);
    timer = setTimeout(() => {
      if ([...waits.values()].some((wait) => leftOf(wait) <= 0)) onDue();
      schedule();
    }, inMs).unref();
  }

  const unlisten = [
    onEvents(store, ['stage-removed'], ({ data }) => void waits.delete(data.stageId)),
    onSessionChange(store, ['limitWait'], (session) => {
      follow(session);
      schedule();
    }),
  ];
  for (const session of await store.read.sessions.list()) follow(session);
  schedule();
  return {
    isDue({ id, completedAt, session }) {
      const wait = waits.get(id);
      if (session === null || wait === undefined || session.limitWait?.goesOnAt !== wait.goesOnAt) return false;
      if (completedAt !== null || session.alarm !== null || session.terminal !== null || session.isGoingBack)
        return false;
      return (session.state === 'idle' || session.state === 'ended') && leftOf(wait) <= 0;
    },
    stop: () => {
      for (const stop of unlisten) stop();
      clearTimeout(timer);
    },
  };
}
