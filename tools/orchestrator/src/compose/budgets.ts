import { createBudgets } from '../budgets/budgets.ts';
import { startBudgetWatch } from '../budgets/watch-budgets.ts';
import type { MessageQueue } from '../messages/message-queue.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { SideRuns } from '../side-runs/side-runs.ts';
import type { Store } from '../store/store.ts';
import type { StartContext } from './start-context.ts';

interface BudgetServicesParts {
  store: Store;
  /** See `MachineStores.own`. */
  own: Store;
  sessions: Sessions;
  messages: Pick<MessageQueue, 'sendTextIn' | 'release'>;
  sideRuns: Pick<SideRuns, 'nudge'>;
}

/** What changed about budgets. `figures`: only what was spent. `limits`: what waited may go on. */
type BudgetNews = 'figures' | 'limits';

/** Builds the budgets, and watches what is spent. */
export function composeBudgets({ log, edges, life }: StartContext, parts: BudgetServicesParts) {
  const { store, own, sessions, messages, sideRuns } = parts;
  const listeners = new Set<(news: BudgetNews) => void>();
  const tell = (news: BudgetNews) => {
    if (news === 'limits') sideRuns.nudge();
    for (const listener of listeners) listener(news);
  };
  const watch = startBudgetWatch({
    // Spending anywhere counts; turns are interrupted where they run.
    store: { read: own.read, transact: own.transact, onEvent: store.onEvent, onForeignCommit: store.onForeignCommit },
    edges,
    log,
    interrupt: sessions.interrupt,
    onFigures: () => tell('figures'),
    onDay: () => tell('limits'),
  });
  life.onStop('budgets', watch.stop);
  const budgets = createBudgets({
    store,
    edges,
    onChange() {
      watch.nudge();
      tell('limits');
    },
    start: (stageId, actor) => sessions.start(stageId, actor, { beyondBudget: true }),
    sendTextIn: messages.sendTextIn,
    release: messages.release,
  });
  const onBudgetNews = (listener: (news: BudgetNews) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return { budgets, onBudgetNews };
}
