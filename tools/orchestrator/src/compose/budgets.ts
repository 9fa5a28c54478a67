import { createBudgets } from '../budgets/budgets.ts';
import { startBudgetWatch } from '../budgets/watch-budgets.ts';
import type { MessageQueue } from '../messages/message-queue.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { SideRuns } from '../side-runs/side-runs.ts';
import type { Store } from '../store/store.ts';
import type { StartContext } from './start-context.ts';

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
  const listeners = new Set<(updates: BudgetUpdate) => void>();
  const notify = (updates: BudgetUpdate) => {
    if (updates === 'limits') sideRuns.schedule();
    for (const listener of listeners) listener(updates);
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
  const onBudgetUpdate = (listener: (updates: BudgetUpdate) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return { budgets, onBudgetUpdate };
}
