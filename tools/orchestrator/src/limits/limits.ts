import type { CommandInput, LimitsView, StageId } from '@callboard/contract';
import { saveChange } from '../domain/change-session.ts';
import { isStagePaused, releaseStage } from '../domain/holds.ts';
import { openWaiting, type ResumeIn, replanWait, resumeIn, setResumes } from '../domain/limit-waits.ts';
import { requireNoAlarm } from '../domain/session-alarm.ts';
import { requireNotInTerminal } from '../domain/terminal.ts';
import type { Signal } from '../lib/bell.ts';
import { Rejection } from '../lib/errors.ts';
import type { SessionRecord } from '../store/records.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';

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
  outboxSignal: Signal<StageId>;
}

/** Whether nothing has happened since the plan that keeps the session from going on by itself. */
async function mayResume(tx: Tx, { stageId, limitWait, alarm, terminal, goingBack }: SessionRecord): Promise<boolean> {
  if (limitWait?.goesOnAt == null || alarm !== null || terminal !== null || goingBack !== null) return false;
  return (await requireStage(tx, stageId)).completedAt === null && !(await isStagePaused(tx, stageId));
}

export function createLimits(deps: LimitsDeps): Limits {
  const { store, outboxSignal } = deps;

  async function resume(tx: Tx, stageId: StageId, actor: string | null): Promise<void> {
    const change = await openWaiting(tx, stageId);
    if (change === null || (actor === null && !(await mayResume(tx, change.record)))) return;
    if (actor !== null) await releaseStage(tx, stageId);
    await resumeIn(tx, deps, change, actor);
    tx.afterCommit(() => outboxSignal.ring(stageId));
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
