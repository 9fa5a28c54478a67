import { isOpenPullRequest, type Stage, type StageId } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { Logger } from '../lib/logger.ts';
import {
  isMergedUnsettled,
  type Looked,
  type LookParts,
  lookAtPullRequest,
  settleMerged,
} from './look-at-pull-request.ts';
import { createPollTimes } from './poll-times.ts';

export interface WatchParts extends LookParts {
  log: Logger;
  edges: Pick<Edges, 'uptimeMs'>;
  /** How long after a look the next one usually follows. */
  usualMs: number;
}

/** Asks the code hosts about open pull requests, gently: one after another, seldom while nothing happens. */
export interface PullRequestWatch {
  /** Asks at once. @throws as `lookAtPullRequest` */
  look(stageId: StageId): Promise<Looked>;
  stop(): Promise<void>;
}

export async function watchPullRequests(parts: WatchParts): Promise<PullRequestWatch> {
  const { store, edges, usualMs } = parts;
  const times = createPollTimes({ uptimeMs: edges.uptimeMs, usualMs });
  const work = createBackground(parts);
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
  const ask = (stageId: StageId, isOrdered: boolean): Promise<Looked> =>
    inTurn('all', async () => {
      let looked: Looked = 'failed';
      try {
        looked = await lookAtPullRequest(parts, stageId, isOrdered, work.signal);
        return looked;
      } finally {
        times.asked(stageId, looked);
        wake();
      }
    });

  const settle = (stageId: StageId): Promise<void> => settling(stageId, () => settleMerged(parts, stageId));

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
    async look(stageId) {
      const looked = await ask(stageId, true);
      await settle(stageId);
      return looked;
    },
    async stop() {
      unlisten();
      clearTimeout(timer);
      await work.stop();
    },
  };
}

/** Work that nobody waits for. What fails is logged. */
function createBackground({ log }: Pick<WatchParts, 'log'>) {
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
