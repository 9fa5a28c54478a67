import { homedir } from 'node:os';
import { type BoardNotices, isClaudeAway, NOTHING_STORED } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import type { ReAttaching } from '../core/launch/re-attach-launches.ts';
import {
  createBudgetGate,
  createLimitGate,
  createMemoryGate,
  createPauseGate,
  type Scheduler,
  type StartDelays,
  startScheduler,
} from '../core/launch/scheduler.ts';
import { createPlaceholderWatch, startIdleWatch, startSilenceWatch } from '../core/launch/session-watches.ts';
import type { Sessions } from '../core/launch/sessions.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import type { LoginWatch } from '../doctor/login-watch.ts';
import type { SandboxWatch } from '../doctor/sandbox-watch.ts';
import { type Budgets, createBudgets, startBudgetWatch } from '../features/budgets/budgets.ts';
import { startChangeCounts } from '../features/changes/changes.ts';
import { type Limits, startWaitClock } from '../features/limits/limits.ts';
import type { MessageQueue } from '../features/messages/messages.ts';
import type { SideRuns } from '../features/review/review.ts';
import { type StageImports, startStageFolders } from '../features/stages/import-stages.ts';
import type { DiskWatch, WriteWatch } from '../features/storage/storage.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Logger } from '../platform/runtime.ts';
import { isStorageFailure, textWithOutlook } from '../store/storage-error.ts';
import { onSessionChange, type Store } from '../store/store.ts';
import type { StartContext } from './context.ts';
import type { Membership } from './membership.ts';
import type { Storage } from './open-storage.ts';
import type { Repositories, RunningSessions } from './run-sessions.ts';

/** The parts that the state of the machine depends on. */
interface MachineState {
  claude: ClaudeWatch;
  sandbox: SandboxWatch;
  login: LoginWatch;
  disk: DiskWatch;
  writes: WriteWatch;
  reAttaching: ReAttaching;
  startHolds: StartDelays;
  budgets: Budgets;
  onBudgetUpdate: ReturnType<typeof composeBudgets>['onBudgetUpdate'];
}

export interface ReactingDeps {
  machine: MachineState;
  store: Pick<Store, 'onEvent'>;
  sessions: Sessions;
  scheduler: Scheduler;
  gateway: Gateway;
  /** As `ComposeOptions.onUpdate`. */
  onUpdate: (line: string) => void;
}

/** Sends the notices to the boards and continues deferred work: at once, and whenever the state of the machine changes. */
export function reactToChanges({ log, life }: StartContext, deps: ReactingDeps): void {
  const { machine, store, sessions, scheduler, gateway, onUpdate } = deps;
  const { claude, sandbox, login, disk, writes, reAttaching, startHolds } = machine;
  const sendNotices = createNoticeTeller(machine, gateway.onNotices, log);
  const resume = () => {
    sendNotices();
    scheduler.schedule();
    sessions.resumeDeferredWork().catch((error: unknown) => log.error({ err: error }, 'resuming deferred work failed'));
  };
  const unlisten = [
    claude.onTried((tried) => {
      sendNotices();
      if (tried === null) return;
      sessions
        .reportGaps(tried.version, tried.gaps)
        .catch((error: unknown) => log.error({ err: error }, 'reporting the gaps of claude failed'));
    }),
    sandbox.onChange(sendNotices),
    startHolds.onChange(sendNotices),
    machine.onBudgetUpdate((updates) => (updates === 'limits' ? resume() : sendNotices())),
    login.onChange(() => {
      sendNotices();
      scheduler.schedule();
    }),
    onSessionChange(store, ['lastTurn'], ({ lastTurn }) => {
      if (lastTurn !== null) login.sawTurn(lastTurn);
    }),
    reAttaching.onChange(resume),
    disk.onChange((change) => {
      if (change.type === 'low') sendNotices();
      if (change.type === 'recovered') resume();
      if (change.type === 'not-full') void sessions.recoverLostOutput(change.since);
    }),
    writes.onChange((storageError) => {
      if (storageError?.isDiskFull) disk.foundFull();
      if (storageError?.isLasting) onUpdate(`${NOTHING_STORED}${storageError.text}`);
      if (storageError !== null) return sendNotices();
      disk.diskPauseReason(); // checks the disk, so that lost output is recovered at once
      resume();
    }),
  ];
  life.onStop('reacting to changes', () => {
    for (const stop of unlisten) stop();
  });
  claude.begin();
  sandbox.begin();
  login.begin();
  resume(); // for what waited when Callboard stopped
}

/** Where the notices come from. */
export interface NoticeSources {
  claude: Pick<ClaudeWatch, 'warnings'>;
  sandbox: Pick<SandboxWatch, 'support'>;
  login: Pick<LoginWatch, 'state'>;
  disk: Pick<DiskWatch, 'diskPauseReason'>;
  writes: Pick<WriteWatch, 'storageError'>;
  reAttaching: Pick<ReAttaching, 'storageError'>;
  startHolds: Pick<StartDelays, 'current'>;
  budgets: Pick<Budgets, 'list'>;
}

/** Returns the notices of the board: its warnings, why nothing is started, what holds automatic starts, the budgets, whether the sandbox works, and whether Claude Code can work. */
export const boardNotices = (machine: NoticeSources): Promise<BoardNotices> =>
  noticesWith(machine, machine.budgets.list, machine.writes.storageError);

/**
 * Returns a function that passes on the notices of the board. A failing store is told even if it can write again before
 * the warnings are read: a nearly full disk takes one write and refuses the next. Calls are served in their order, so
 * that the newest state comes last.
 */
export function createNoticeTeller(machine: NoticeSources, onNotices: (notices: BoardNotices) => void, log: Logger) {
  let last = Promise.resolve();
  let budgets: BoardNotices['budgets'] | null = null;
  /**
   * A shared store that is out of reach cannot be read either, and one that stands still would keep the reader waiting for long.
   * That is what has to be told: the budgets stay as they were.
   */
  const readBudgets = async (canWrite: boolean) => {
    try {
      if (canWrite || budgets === null) budgets = await machine.budgets.list();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
    }
    return budgets ?? [];
  };
  return (): void => {
    const storageError = machine.writes.storageError();
    last = last
      .then(() =>
        noticesWith(
          machine,
          () => readBudgets(storageError === null),
          () => storageError,
        ),
      )
      .then(onNotices, (error: unknown) => log.error({ err: error }, 'reading the notices failed'));
  };
}

async function noticesWith(
  machine: NoticeSources,
  readBudgets: Budgets['list'],
  storageErrorOfWrites: WriteWatch['storageError'],
): Promise<BoardNotices> {
  const { claude, sandbox, login, disk, reAttaching, startHolds } = machine;
  const warnings = await claude.warnings();
  const budgets = await readBudgets();
  const storageError = storageErrorOfWrites(); // after the wait, as everything below: the newest state
  const ofStore = storageError === null ? null : `${NOTHING_STORED}${textWithOutlook(storageError)}`;
  const ofCallboard = [ofStore, reAttaching.storageError()].filter((text) => text !== null);
  const paused = disk.diskPauseReason();
  return {
    warnings: [...ofCallboard, ...warnings],
    paused,
    startHolds: startHolds.current(),
    budgets,
    sandbox: sandbox.support(),
    claude: login.state(),
  };
}

interface BudgetServicesDeps {
  store: Store;
  /** See `MachineStores.own`. */
  own: Store;
  sessions: Sessions;
  messages: Pick<MessageQueue, 'sendTextIn' | 'release'>;
  sideRuns: Pick<SideRuns, 'schedule'>;
}

/** What changed about budgets. `figures`: only what was spent. `limits`: what waited may go on. */
type BudgetUpdate = 'figures' | 'limits';

/** Builds the budgets, and watches what is spent. */
export function composeBudgets({ log, platform, life }: StartContext, deps: BudgetServicesDeps) {
  const { store, own, sessions, messages, sideRuns } = deps;
  const updated = createEmitter<BudgetUpdate>();
  const notify = (updates: BudgetUpdate) => {
    if (updates === 'limits') sideRuns.schedule();
    updated.emit(updates);
  };
  const watch = startBudgetWatch({
    // Spending anywhere counts; turns are interrupted where they run.
    store: { read: own.read, transact: own.transact, onEvent: store.onEvent, onForeignCommit: store.onForeignCommit },
    platform,
    log,
    interrupt: sessions.interrupt,
    onFigures: () => notify('figures'),
    onDay: () => notify('limits'),
  });
  life.onStop('budgets', watch.stop);
  const budgets = createBudgets({
    store,
    platform,
    onChange() {
      watch.schedule();
      notify('limits');
    },
    start: (stageId, actor) => sessions.start(stageId, actor, { beyondBudget: true }),
    sendTextIn: messages.sendTextIn,
    release: messages.release,
  });
  return { budgets, onBudgetUpdate: updated.subscribe };
}

type AutomationDeps = Storage &
  Repositories &
  RunningSessions & {
    login: LoginWatch;
    imports: StageImports;
    usageLimits: Limits;
    budgets: Budgets;
    startHolds: StartDelays;
    membership: Membership;
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
  const mayStart = () => disk.diskPauseReason() === null && !isClaudeAway(login.state()) && membership.mayWrite();
  const scheduler = startScheduler({
    // A stage that nobody has claimed concerns every machine.
    store: { board: store.board, onEvent: deps.all.onEvent },
    log,
    maxParallel: config.maxParallel,
    mayStart,
    gates: [
      ...membership.gates,
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
      await findPlaceholders(stageId, diff.head);
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
      mayWatch: membership.places.isFirst,
    }),
  );
  return { scheduler, mayStart, endAllIdle: idleWatch.endAllIdle };
}
