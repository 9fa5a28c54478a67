import { NOTHING_STORED } from '@callboard/contract';
import type { Budgets } from '../budgets/budgets.ts';
import type { DiskWatch } from '../disk/disk-watch.ts';
import type { WriteWatch } from '../disk/write-watch.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import type { LoginWatch } from '../doctor/login-watch.ts';
import type { SandboxWatch } from '../doctor/sandbox-watch.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { StartDelays } from '../scheduler/start-gates.ts';
import type { ReAttaching } from '../sessions/launch/re-attach-launches.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Store } from '../store/store.ts';
import { createNoticeTeller } from './board-notices.ts';
import type { composeBudgets } from './budgets.ts';
import type { StartContext } from './start-context.ts';

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
    store.onEvent(({ type, data }) => {
      if (type === 'session-updated' && data.lastTurn !== null) login.sawTurn(data.lastTurn);
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
