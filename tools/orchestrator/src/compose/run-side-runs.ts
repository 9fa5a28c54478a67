import type { StageId } from '@callboard/contract';
import { pathFindingsOf } from '../comments/place-comment.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import type { Signal } from '../lib/bell.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { askClaude } from '../side-runs/ask-claude.ts';
import { type SideRuns, startSideRuns } from '../side-runs/side-runs.ts';
import { retryUntilStored } from '../store/retry-until-stored.ts';
import type { Store } from '../store/store.ts';
import type { Trust } from '../trust/trust.ts';
import { endCommand } from '../worktree-commands/end-command.ts';
import { runWithInput } from '../worktree-commands/run-with-input.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

interface RunSideRunsDeps {
  store: Store;
  sessions: Pick<Sessions, 'resumeWith'>;
  worktrees: Worktrees;
  trust: Trust;
  claude: ClaudeWatch;
  claudeEnv: Record<string, string>;
  outboxSignal: Signal<StageId>;
}

/** Each uses about as much memory as a session. */
const AT_ONCE = 2;

/** Asks Claude beside the conversations, after what an earlier Callboard asked was settled. */
export async function runSideRuns(
  { config, log, platform, limits, life }: StartContext,
  { store, sessions, worktrees, trust, claude, claudeEnv, outboxSignal }: RunSideRunsDeps,
): Promise<SideRuns> {
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const { dataDir } = config;
  const graceMs = limits.graces.signalMs;
  const startProgram: Parameters<typeof askClaude>[0]['startProgram'] = (job) =>
    runWithInput({ dataDir, graceMs }, job);
  const asking = { store, worktrees, claude, trust, dataDir, env: claudeEnv, startProgram, pathFindingsOf };
  const sideRuns = await startSideRuns({
    store,
    log,
    outboxSignal,
    resumeWith: sessions.resumeWith,
    maxParallel: AT_ONCE,
    now: platform.now,
    limitCheckIntervalMs: limits.limitCheckIntervalMs,
    ask: (run, steps) => askClaude(asking, run, steps),
    endLeft: (id, process) => endCommand({ id, process, isSandboxed: false }, graceMs),
    untilStored: (work) => retryUntilStored(storing, work, { sync: 'now' }),
  });
  life.onStop('side runs', async () => {
    stopping.abort();
    await sideRuns.shutDown();
  });
  return sideRuns;
}
