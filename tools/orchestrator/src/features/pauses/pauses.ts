import {
  type CommandInput,
  coversProject,
  isMidTurn,
  type Pause,
  type PauseTarget,
  type StageId,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { changeSession } from '../../core/session/change-session.ts';
import {
  isStagePaused,
  pauseScope,
  pauseStage,
  releaseScope,
  releaseStage,
} from '../../core/session/spending-limits.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { SessionRecord } from '../../store/records.ts';
import { onEvents, onSessionChange, type Store, type Tx } from '../../store/store.ts';

export interface PauseDeps {
  holds: Pauses;
}

export const pauseCommands = ({ holds }: PauseDeps): Pick<CommandHandlers, 'get_holds' | 'put_hold'> => ({
  get_holds: async () => ({ holds: await holds.list() }),
  put_hold: async (order, { actor }) => ({ holds: await holds.put(order, actor.name) }),
});

export interface PausesDeps {
  store: Store;
  log: Logger;
  /** Interrupts a running turn. */
  interrupt: (stageId: StageId, reason: string) => Promise<void>;
  /** Continues sessions whose stages were released. */
  resumeReleased: (stageIds: ReadonlySet<StageId>) => Promise<void>;
}

/** What people keep on hold. What is released goes on from the store, so a restart in between changes nothing. */
export interface Pauses {
  /** Returns the holds of projects and of everything; a stage that is held itself has a field for it. */
  list(): Promise<Pause[]>;
  /**
   * Puts stages on hold, or releases them: all of them, or none. Running turns finish, or are asked to end after this was stored.
   * @throws Rejection `unknown_stage`, `unknown_project`
   */
  put(order: CommandInput<'put_hold'>, actor: string): Promise<Pause[]>;
  /** Resolves when nothing is being interrupted or continued. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** After this long a process is asked again that refused to end its turn, or said that it does and did not. */
const ASK_AGAIN_MS = 30_000;

/** Continues what was released, and interrupts what a person wants interrupted: from now on, and what was left when Callboard ended. */
export function startDelays({ store, log, interrupt, resumeReleased }: PausesDeps): Pauses {
  /** Whose process is being asked, or has confirmed and not ended its turn yet. */
  const interrupting = new Map<StageId, { work: Promise<void>; isSettled: boolean }>();
  /** Whether a session may have a turn that is to be interrupted. */
  let isAnyAsked = true;
  let timer: NodeJS.Timeout | undefined;

  async function interruptOne(stageId: StageId): Promise<void> {
    try {
      if (await store.transact((tx) => stillToInterrupt(tx, stageId))) await interrupt(stageId, REASON);
    } catch (error) {
      interrupting.delete(stageId); // the next change of its session asks again, or the timer
      if (!(error instanceof Rejection)) log.error({ err: error, stageId }, 'interrupting a held stage failed');
      else log.info({ stageId, code: error.code }, 'held stage not interrupted');
    }
  }

  function begin(stageId: StageId): void {
    const asked = { work: interruptOne(stageId), isSettled: false };
    interrupting.set(stageId, asked);
    void asked.work.then(() => (asked.isSettled = true));
  }

  function askAgain(): void {
    timer = undefined;
    for (const [stageId, { isSettled }] of interrupting) if (isSettled) interrupting.delete(stageId);
    passes.schedule();
  }

  async function pass(): Promise<void> {
    const sessions = await store.read.sessions.list();
    const asked = sessions.filter(({ holdInterrupt }) => holdInterrupt === 'asked');
    isAnyAsked = asked.length > 0;
    if (isAnyAsked) timer ??= setTimeout(askAgain, ASK_AGAIN_MS).unref(); // not put off by the changes of other sessions
    const ids = new Set(asked.map(({ stageId }) => stageId));
    for (const stageId of interrupting.keys()) if (!ids.has(stageId)) interrupting.delete(stageId);
    for (const { stageId, state } of asked) {
      if (isMidTurn(state) && !interrupting.has(stageId)) begin(stageId);
    }
    const released = new Set<StageId>();
    for (const { stageId, withheld } of sessions)
      if (withheld && !(await isStagePaused(store.read, stageId))) released.add(stageId);
    if (released.size > 0) await resumeReleased(released);
  }

  const passes = createReconciler(pass, (error) => log.error({ err: error }, 'following holds failed'), {
    on: (schedule) => [
      onEvents(store, ['holds-updated', 'stage-updated'], schedule), // another machine may have stored an interrupt
      onSessionChange(store, ['state', 'withheld'], () => {
        if (isAnyAsked) schedule();
      }),
      store.onEpoch(schedule),
    ],
  });
  passes.schedule();

  return {
    list: () => store.read.holds.list(),
    async put({ scope, held, interrupt: isInterrupting = false }, actor) {
      await store.transact(async (tx) => {
        await (held ? pause(tx, scope, actor) : release(tx, scope));
        if (held && isInterrupting) await askAll(tx, scope);
      });
      isAnyAsked ||= isInterrupting;
      passes.schedule();
      return store.read.holds.list();
    },
    async drain() {
      await passes.drain();
      await Promise.all([...interrupting.values()].map(({ work }) => work));
    },
    async stop() {
      await passes.stop();
      clearTimeout(timer);
    },
  };
}

const REASON = 'The stage was put on hold.';

async function pause(tx: Tx, scope: PauseTarget, actor: string): Promise<void> {
  if (!('stageIds' in scope)) return pauseScope(tx, scope, actor);
  for (const stageId of scope.stageIds) await pauseStage(tx, stageId, actor);
}

async function release(tx: Tx, scope: PauseTarget): Promise<void> {
  if (!('stageIds' in scope)) return releaseScope(tx, scope);
  for (const stageId of scope.stageIds) await releaseStage(tx, stageId);
}

/** Stores which turns are interrupted for the hold, before any process is asked. */
async function askAll(tx: Tx, scope: PauseTarget): Promise<void> {
  const stages = (await tx.stages.list()).filter((stage) =>
    'stageIds' in scope ? scope.stageIds.includes(stage.id) : coversProject(scope, stage.projectId),
  );
  const ids = new Set(stages.map(({ id }) => id));
  const running = (await tx.sessions.list()).filter((record) => ids.has(record.stageId) && canInterrupt(record));
  for (const { stageId } of running) {
    await changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, holdInterrupt: 'asked' };
    });
  }
}

const canInterrupt = ({ turnRunning, holdInterrupt }: SessionRecord): boolean => turnRunning && holdInterrupt === null;

/** Forgets the wish if the stage was released, or its turn has ended. */
async function stillToInterrupt(tx: Tx, stageId: StageId): Promise<boolean> {
  const record = await tx.sessions.find(stageId);
  if (record?.holdInterrupt !== 'asked') return false;
  if (record.turnRunning && (await isStagePaused(tx, stageId))) return true;
  await changeSession(tx, stageId, (change) => {
    change.record = { ...change.record, holdInterrupt: null };
  });
  return false;
}
