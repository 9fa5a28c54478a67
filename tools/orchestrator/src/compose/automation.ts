import { homedir } from 'node:os';
import { isClaudeAway } from '@callboard/contract';
import type { Budgets } from '../budgets/budgets.ts';
import type { LoginWatch } from '../doctor/login-watch.ts';
import type { Limits } from '../limits/limits.ts';
import { startWaitClock } from '../limits/wait-clock.ts';
import { createBudgetGate } from '../scheduler/budget-gate.ts';
import { createPauseGate } from '../scheduler/hold-gate.ts';
import { createLimitGate } from '../scheduler/limit-gate.ts';
import { createMachineGate } from '../scheduler/machine-gate.ts';
import { createMemoryGate } from '../scheduler/memory-gate.ts';
import { startScheduler } from '../scheduler/scheduler.ts';
import type { StartDelays } from '../scheduler/start-gates.ts';
import { startChangeCounts } from '../sessions/watch/change-counts.ts';
import { startIdleWatch } from '../sessions/watch/idle-watch.ts';
import { createPlaceholderWatch } from '../sessions/watch/placeholder-watch.ts';
import { startSilenceWatch } from '../sessions/watch/silence-watch.ts';
import type { StageImports } from '../stages/import-stages.ts';
import { startStageFolders } from '../stages/watch-stage-folders.ts';
import type { Store } from '../store/store.ts';
import type { Membership } from './join-machines.ts';
import type { Repositories } from './open-repositories.ts';
import type { Storage } from './open-storage.ts';
import type { RunningSessions } from './run-sessions.ts';
import type { StartContext } from './start-context.ts';

type AutomationDeps = Storage &
  Repositories &
  RunningSessions & {
    login: LoginWatch;
    imports: StageImports;
    usageLimits: Limits;
    budgets: Budgets;
    startHolds: StartDelays;
    membership: Membership | null;
    /** See `MachineStores.all`. */
    all: Store;
  };

/** The work that Callboard does unasked. */
export async function startAutomation({ config, log, platform, limits, life }: StartContext, deps: AutomationDeps) {
  const { store, membership, disk, worktrees, sessions, lowPriorityWork, login, onDiff } = deps;
  const waits = await startWaitClock({
    store,
    platform,
    checkIntervalMs: limits.limitCheckIntervalMs,
    onDue: () => scheduler.schedule(),
  });
  life.onStop('waits for usage limits', waits.stop);
  const mayStart = () =>
    disk.diskPauseReason() === null && !isClaudeAway(login.state()) && membership?.lease.isHeld() !== false;
  const scheduler = startScheduler({
    // A stage that nobody has claimed concerns every machine.
    store: { board: store.board, onEvent: deps.all.onEvent },
    log,
    maxParallel: config.maxParallel,
    mayStart,
    gates: [
      ...(membership === null ? [] : [createMachineGate(membership.machines)]),
      createPauseGate({ store }),
      createLimitGate({ store, platform }),
      createBudgetGate(deps.budgets.list),
      createMemoryGate({ store, platform }),
    ],
    holds: deps.startHolds,
    start: (id) => sessions.start(id, null),
    waits: { isDue: waits.isDue, resume: deps.usageLimits.resume },
    deferred: { list: sessions.listDeferred, resume: sessions.resumeDeferred },
  });
  life.onStop('scheduler', scheduler.stop);
  const findPlaceholders = createPlaceholderWatch({ store, worktrees });
  const changeCounts = await startChangeCounts({
    store,
    worktrees,
    lowPriorityWork,
    async onDiff(stageId, diff) {
      await onDiff(stageId, diff);
      await findPlaceholders(stageId);
    },
  });
  life.onStop('change counts', changeCounts);
  const idleWatch = startIdleWatch({ store, platform, log, idleMs: limits.idleMs, endIdle: sessions.endIdle });
  life.onStop('idle watch', idleWatch.stop);
  const silenceWatch = startSilenceWatch({
    store,
    log,
    checkIntervalMs: limits.watchdogCheckIntervalMs,
    running: sessions.executors,
    onSilent: sessions.resync,
    silenceMs: config.attentionAfterMinutes * 60_000,
  });
  life.onStop('silence watch', silenceWatch.stop);
  life.onStop(
    'stage folders',
    startStageFolders({
      store,
      log,
      imports: deps.imports,
      home: deps.env.HOME ?? homedir(),
      mayWatch: membership?.places.isFirst,
    }),
  );
  return { scheduler, mayStart, endAllIdle: idleWatch.endAllIdle };
}
