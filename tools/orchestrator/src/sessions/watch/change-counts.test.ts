import { once } from 'node:events';
import type { Project } from '@callboard/contract';
import { expect, it } from 'vitest';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { silent } from '../../../test/support/test-store.ts';
import { startChangeCounts } from './change-counts.ts';
import { startLowPriorityWork } from './low-priority-work.ts';

const WORKTREE = { path: '/w', branch: 'callboard/S1', base: 'main' };
const NOTHING = { files: 0, additions: 0, deletions: 0 };

it('counts once after each turn, and ends the running git when it is stopped', async () => {
  const session = await busyTestSession({ worktree: WORKTREE });
  let counted = 0;
  let hangs = false;
  let ended = 0;
  async function countChanges(_project: Project, _worktree: typeof WORKTREE, signal: AbortSignal) {
    counted++;
    if (hangs) {
      await once(signal, 'abort');
      ended++;
      throw new Error('git was ended');
    }
    return { ...NOTHING, files: counted };
  }
  const { store, edges } = session;
  const lowPriorityWork = await startLowPriorityWork({ store, edges, log: silent });
  const stop = await startChangeCounts({ store, worktrees: { countChanges }, lowPriorityWork });
  await session.tell(turnEnded());
  await expect.poll(async () => (await session.record()).changes).toMatchObject({ files: 1 });
  hangs = true;
  await session.tell(turnEnded());
  await expect.poll(() => counted).toBe(2);
  stop();
  await lowPriorityWork.stop();
  expect(ended).toBe(1);
  await session.tell(turnEnded());
  expect(counted).toBe(2);
});
