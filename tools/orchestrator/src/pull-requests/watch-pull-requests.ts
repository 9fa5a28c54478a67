import { isOpenPullRequest, type Stage, type StageId } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { Logger } from '../lib/logger.ts';
import {
  type CheckDeps,
  type Checked,
  checkPullRequest,
  isMergedUnsettled,
  settleMerged,
} from './look-at-pull-request.ts';
import { createPollTimes } from './poll-times.ts';

export interface WatchDeps extends CheckDeps {
  log: Logger;
  platform: Pick<Platform, 'uptimeMs'>;
  /** How long after a look the next one usually follows. */
  usualMs: number;
}

/** Asks the code hosts about open pull requests, gently: one after another, seldom while nothing happens. */
export interface PullRequestWatch {
  /** Asks at once. @throws as `checkPullRequest` */
  check(stageId: StageId): Promise<Checked>;
  stop(): Promise<void>;
}

export async function watchPullRequests(deps: WatchDeps): Promise<PullRequestWatch> {
  const { store, platform, usualMs } = deps;
  const times = createPollTimes({ uptimeMs: platform.uptimeMs, usualMs });
  const work = createBackground(deps);
  /** Stages whose pull request was merged while Claude worked. */
  const merged = new Set<StageId>();
  const [inTurn, settling] = [createKeyedMutex(), createKeyedMutex()];
  let timer: NodeJS.Timeout | undefined;

  function wake(): void {
    clearTimeout(timer);
    const next = times.untilNextMs();
    if (next === null || work.signal.aborted) return;
    timer = setTimeout(() => {
      for (const stageId of times.takeDue()) work.begin(stageId, () => ask(stageId, false));
      wake();
    }, next).unref();
  }

  /** One at a time, so that a board with many stages does not flood the host. */
  const ask = (stageId: StageId, isOrdered: boolean): Promise<Checked> =>
    inTurn('all', async () => {
      let checked: Checked = 'failed';
      try {
        checked = await checkPullRequest(deps, stageId, isOrdered, work.signal);
        return checked;
      } finally {
        times.asked(stageId, checked);
        wake();
      }
    });

  const settle = (stageId: StageId): Promise<void> => settling(stageId, () => settleMerged(deps, stageId));

  function see({ id, pullRequest, merged: isMerged }: Pick<Stage, 'id' | 'pullRequest' | 'merged'>): void {
    if (isMergedUnsettled({ pullRequest })) {
      merged.add(id);
      work.begin(id, () => settle(id));
    } else merged.delete(id);
    if (pullRequest === null || !isOpenPullRequest(pullRequest) || isMerged !== null) times.forget(id);
    else times.see(id, `${pullRequest.number} ${pullRequest.head} ${pullRequest.checks}`);
    wake();
  }

  const unlisten = store.onEvent(({ type, data }) => {
    if (type === 'stage-updated') see(data.stage);
    if (type === 'stage-removed') times.forget(data.stageId);
    if (type === 'session-updated' && merged.has(data.stageId)) work.begin(data.stageId, () => settle(data.stageId));
  });
  for (const stage of await store.read.stages.list()) see(stage);
  return {
    async check(stageId) {
      const checked = await ask(stageId, true);
      await settle(stageId);
      return checked;
    },
    async stop() {
      unlisten();
      clearTimeout(timer);
      await work.stop();
    },
  };
}

/** Work that nobody waits for. What fails is logged. */
function createBackground({ log }: Pick<WatchDeps, 'log'>) {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  return {
    signal: stopping.signal,
    begin(stageId: StageId, work: () => Promise<unknown>): void {
      if (stopping.signal.aborted) return;
      const done = work()
        .catch((error: unknown) => {
          if (stopping.signal.aborted) return;
          if (error instanceof Rejection) log.info({ stageId, code: error.code }, 'pull request not settled');
          else log.error({ err: error, stageId }, 'asking for a pull request failed');
        })
        .then(() => void running.delete(done));
      running.add(done);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
