import type { StageId } from '@callboard/contract';
import { type Checks, startChecks } from '../checks/checks.ts';
import type { Signal } from '../lib/bell.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { retryUntilStored } from '../store/retry-until-stored.ts';
import type { Store } from '../store/store.ts';
import type { WorktreeCommands } from '../worktree-commands/worktree-commands.ts';
import type { StartContext } from './start-context.ts';

interface RunChecksDeps {
  store: Store;
  sessions: Pick<Sessions, 'resumeWith'>;
  outboxSignal: Signal<StageId>;
  worktreeCommands: WorktreeCommands;
}

/** Runs the checks of phases, those first that were interrupted. */
export async function runChecks(
  { config, log, life }: StartContext,
  { store, sessions, outboxSignal, worktreeCommands }: RunChecksDeps,
): Promise<Checks> {
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const checks = await startChecks({
    store,
    log,
    outboxSignal,
    commands: worktreeCommands,
    maxParallel: config.maxParallel,
    resumeWith: sessions.resumeWith,
    untilStored: (work) => retryUntilStored(storing, work, { sync: 'now' }),
  });
  life.onStop('checks', async () => {
    stopping.abort();
    await checks.stop();
  });
  return checks;
}
