import { expect, it } from 'vitest';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { silent } from '../../../test/support/test-store.ts';
import { createUsageTracker } from './follow-ups.ts';
import type { LowPriorityTask } from './low-priority-work.ts';

it('requests the context usage after a turn, once the session is quiet, and stores the reply', async () => {
  const { store, platform, stageId, emit, record } = await busyTestSession();
  const asked: string[] = [];
  const waiting: LowPriorityTask[] = [];
  const figures = createUsageTracker({
    store,
    log: silent,
    stageId,
    uptimeMs: platform.uptimeMs,
    everyMs: 10_000,
    request: async ({ subtype }) => {
      asked.push(subtype);
      return { response: { totalTokens: 2_000, maxTokens: 200_000, percentage: 1 } };
    },
    whenQuiet: (_, work) => waiting.push(work),
  });
  await emit(turnEnded());
  figures.worked(); // a request is due in the turn, and dropped when the turn ends
  figures.turnEnded();
  expect([asked, waiting.length]).toEqual([[], 1]);
  await waiting[0]?.(new AbortController().signal);
  expect(asked).toEqual(['get_context_usage']);
  expect((await record()).contextUsage).toEqual({ usedTokens: 2_000, maxTokens: 200_000, percentage: 1 });
});
