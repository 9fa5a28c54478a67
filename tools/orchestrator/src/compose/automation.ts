import { homedir } from 'node:os';
import { isClaudeAway } from '@callboard/contract';
import type { Budgets } from '../budgets/budgets.ts';
import type { LoginWatch } from '../doctor/login-watch.ts';
import type { Limits } from '../limits/limits.ts';
import { startWaitClock } from '../limits/wait-clock.ts';
import { createBudgetGate } from '../scheduler/budget-gate.ts';
import { createHoldGate } from '../scheduler/hold-gate.ts';
import { createLimitGate } from '../scheduler/limit-gate.ts';
import { createMachineGate } from '../scheduler/machine-gate.ts';
import { createMemoryGate } from '../scheduler/memory-gate.ts';
import { startScheduler } from '../scheduler/scheduler.ts';
import type { StartHolds } from '../scheduler/start-gates.ts';
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

type AutomationParts = Storage &
  Repositories &
  RunningSessions & {
    login: LoginWatch;
    imports: StageImports;
    usageLimits: Limits;
    budgets: Budgets;
    startHolds: StartHolds;
    membership: Membership | null;
    /** See `MachineStores.all`. */
    all: Store;
  };

/** The work that Callboard does unasked. */
export async function startAutomation({ config, log, edges, limits, life }: StartContext, parts: AutomationParts) {
  const { store, membership, disk, worktrees, sessions, lowPriorityWork, login, onDiff } = parts;
  const waits = await startWaitClock({
    store,
    edges,
    lookMs: limits.limitLookMs,
    onDue: () => scheduler.nudge(),
  });
  life.onStop('waits for usage limits', waits.stop);
  const mayStart = () =>
    disk.diskPauseReason() === null && !isClaudeAway(login.state()) && membership?.lease.isHeld() !== false;
  const scheduler = startScheduler({
    // A stage that nobody has claimed concerns every machine.
    store: { board: store.board, onEvent: parts.all.onEvent },
    log,
    maxParallel: config.maxParallel,
    mayStart,
    gates: [
      ...(membership === null ? [] : [createMachineGate(membership.machines)]),
      createHoldGate({ store }),
      createLimitGate({ store, edges }),
      createBudgetGate(parts.budgets.list),
      createMemoryGate({ store, edges }),
    ],
    holds: parts.startHolds,
    start: (id) => sessions.start(id, null),
    waits: { isDue: waits.isDue, goOn: parts.usageLimits.goOn },
    deferred: { list: sessions.listDeferred, goOn: sessions.resumeDeferred },
  });
  life.onStop('scheduler', scheduler.stop);
  const lookForPlaceholders = createPlaceholderWatch({ store, worktrees });
  const changeCounts = await startChangeCounts({
    store,
    worktrees,
    lowPriorityWork,
    async onDiff(stageId, diff) {
      await onDiff(stageId, diff);
      await lookForPlaceholders(stageId);
    },
  });
  life.onStop('change counts', changeCounts);
  const idleWatch = startIdleWatch({ store, edges, log, idleMs: limits.idleMs, endIdle: sessions.endIdle });
  life.onStop('idle watch', idleWatch.stop);
  const silenceWatch = startSilenceWatch({
    store,
    log,
    lookMs: limits.watchdogLookMs,
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
      imports: parts.imports,
      home: parts.env.HOME ?? homedir(),
      mayWatch: membership?.places.isFirst,
    }),
  );
  return { scheduler, mayStart, endAllIdle: idleWatch.endAllIdle };
}
